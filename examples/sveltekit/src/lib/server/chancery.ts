import PocketBase from 'pocketbase';
import { CHANCERY_URL } from '$app/env/private';

export interface Post {
  id: string;
  title: string;
}

export function newClient(token = ''): PocketBase {
  const client = new PocketBase(CHANCERY_URL).autoCancellation(false);
  client.authStore.save(token);
  return client;
}

let posts: Promise<Post[]> | undefined;

/** The posts, read once and kept until a webhook says that one has changed. */
export function readPosts(): Promise<Post[]> {
  if (posts !== undefined) return posts;
  const reading = newClient()
    .collection<Post>('posts')
    .getList(1, 50, { sort: '-created' })
    .then(({ items }) => items.map(({ id, title }) => ({ id, title })));
  posts = reading;
  reading.catch(() => {
    if (posts === reading) posts = undefined;
  });
  return reading;
}

export function forgetPosts(): void {
  posts = undefined;
}
