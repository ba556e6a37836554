import adapter from '@sveltejs/adapter-node';
import { sveltekit } from '@sveltejs/kit/vite';
import { defineConfig } from 'vite';

// ORIGIN is where browsers find the pages: forms from elsewhere are refused. Without it the server takes it to be https://HOST.
const paths = { origin: process.env.ORIGIN };

export default defineConfig({ plugins: [sveltekit({ adapter: adapter(), paths })] });
