import PocketBase from 'pocketbase';
import { env } from '$env/dynamic/private';

export interface Post {
  id: string;
  title: string;
}

export function newClient(token = ''): PocketBase {
  const client = new PocketBase(env.CHANCERY_URL ?? 'http://127.0.0.1:8090').autoCancellation(false);
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
