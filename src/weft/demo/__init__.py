"""Real data, a few minutes of training, and a result worth seeing: the commands of a user, one after the other."""
