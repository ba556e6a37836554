import { fetchHandler } from '@chancery/webhooks/fetch';
import { revalidatePath } from 'next/cache';

/** Receives the webhooks of an endpoint for `posts`. Which change it was does not matter: the list is read again. */
export const POST = fetchHandler({
  secret: () => process.env.WEBHOOK_SECRET ?? '',
  onWebhook: () => revalidatePath('/'),
});
