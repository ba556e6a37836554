import { fail } from '@sveltejs/kit';
import { ClientResponseError } from 'pocketbase';
import type { Actions, PageServerLoad } from './$types';

export const load: PageServerLoad = ({ locals }) => ({ isSignedIn: locals.client.authStore.isValid });

export const actions: Actions = {
  signIn: async ({ request, cookies, locals }) => {
    const form = await request.formData();
    return attempt(async () => {
      const users = locals.client.collection('users');
      const { token } = await users.authWithPassword(String(form.get('email')), String(form.get('password')));
      cookies.set('chancery_token', token, { path: '/', httpOnly: true, sameSite: 'lax' });
    });
  },

  signOut: ({ cookies, locals }) => {
    cookies.delete('chancery_token', { path: '/' });
    locals.client.authStore.clear();
  },

  addPost: async ({ request, locals }) => {
    const form = await request.formData();
    return attempt(() => locals.client.collection('posts').create({ title: String(form.get('title')) }));
  },
};

/** Does something; when Chancery refuses it, the page shows the reason. */
async function attempt(work: () => Promise<unknown>) {
  try {
    await work();
  } catch (error) {
    if (error instanceof ClientResponseError) return fail(400, { problem: error.message });
    throw error;
  }
}
