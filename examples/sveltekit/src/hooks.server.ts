import type { Handle } from '@sveltejs/kit';
import { newClient } from './lib/server/chancery';

/** Gives each request a client of its own, with the token of its cookie: a shared one would mix up users. */
export const handle: Handle = ({ event, resolve }) => {
  event.locals.client = newClient(event.cookies.get('chancery_token'));
  return resolve(event);
};
