import { readPosts } from '../lib/server/chancery';
import type { PageServerLoad } from './$types';

export const load: PageServerLoad = async () => ({ posts: await readPosts() });
