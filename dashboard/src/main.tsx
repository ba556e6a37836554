/**
 * The dashboard. It talks to the public API only, so that whatever it can do, any program can.
 *
 *   api/      the service: client, session, and a file of queries for each subject
 *   browser/  what the browser keeps and hears: preferences, theme, keys
 *   parts/    what screens are made of, a file each
 *   screens/  a folder for each screen, loaded when it is first shown; no screen imports another
 *   app/      the frame around screens: router, shell, palette
 *   styles/   tokens first: every colour and size is there, once
 *
 * Each may import those above it, and nothing of src/ (tools/tidy/dashboard-imports.ts). The URL is the state: what a link has to bring
 * back is a search parameter of its route, not a state of a component.
 */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';

const element = document.querySelector('#root');
if (element === null) throw new Error('expected #root in index.html');
createRoot(element).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
