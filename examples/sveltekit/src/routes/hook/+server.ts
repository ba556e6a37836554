import { fetchHandler } from '@chancery/webhooks/fetch';
import { WEBHOOK_SECRET } from '$app/env/private';
import { forgetPosts } from '../../lib/server/chancery';
import type { RequestHandler } from './$types';

const receive = fetchHandler({
  secret: WEBHOOK_SECRET,
  onWebhook: forgetPosts,
});

/** Receives the webhooks of an endpoint for `posts`. Which change it was does not matter: the list is read again. */
export const POST: RequestHandler = ({ request }) => receive(request);
