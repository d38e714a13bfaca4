// The API page: Swagger UI for this server's /openapi.json.

SwaggerUIBundle({ url: "openapi.json", dom_id: "#docs", deepLinking: true, defaultModelsExpandDepth: 0, displayRequestDuration: true, tryItOutEnabled: true, validatorUrl: null });
