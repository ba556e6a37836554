import { defineEnvVars } from '@sveltejs/kit/env';

/** What the program reads from its environment when it starts; it refuses to start without a variable that has no schema. */
export const variables = defineEnvVars({
  CHANCERY_URL: {
    description: 'Where Chancery is',
    schema: (value) => value ?? 'http://127.0.0.1:8090',
  },
  WEBHOOK_SECRET: { description: 'The secret of the endpoint for posts' },
});
