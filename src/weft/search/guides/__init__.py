"""What steers a search: functions around a step function, each with a carry of its own beside the model's.

step, state = force_prefix(model.step, model.start(memory), prefixes)
step, state = include(step, state, requirements, limit)
hypotheses = search(step, state, limit, lines)

A guide takes the step, the state, and what it is to see to for each sentence of the batch. Its memory has a row per
sentence, its carry one per hypothesis. One that has nothing to do gives back the step and the state themselves.
"""
