'use server';

import { redirect } from 'next/navigation';
import { ClientResponseError } from 'pocketbase';
import { deleteToken, saveToken, userClient } from '../../lib/chancery';

export async function signIn(form: FormData): Promise<void> {
  const client = await userClient();
  await show(async () => {
    const users = client.collection('users');
    const { token } = await users.authWithPassword(String(form.get('email')), String(form.get('password')));
    await saveToken(token);
  });
}

export async function signOut(): Promise<void> {
  await deleteToken();
  redirect('/write');
}

export async function addPost(form: FormData): Promise<void> {
  const client = await userClient();
  await show(() => client.collection('posts').create({ title: String(form.get('title')) }));
}

/** Does something and shows the page again, with the reason when Chancery refused it. */
async function show(work: () => Promise<unknown>): Promise<never> {
  let query = '';
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ClientResponseError)) throw error;
    query = `?${new URLSearchParams({ problem: error.message })}`;
  }
  redirect(`/write${query}`);
}
