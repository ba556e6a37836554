import assert from 'node:assert/strict';
import type { BrowserStage } from './browser-stage.ts';
import { runInProcess } from './run-in-process.ts';

/** Makes an operator key beside the running server, by the command that the screens name. */
export async function makeDeskKey({ data }: Pick<BrowserStage, 'data'>, scopes = 'admin'): Promise<string> {
  const command = ['operator', 'key', 'create', 'desk', '--scopes', scopes, '--data', data];
  const { stdout, stderr } = await runInProcess(command);
  const [key] = /co_\w+/.exec(stdout) ?? [];
  assert.ok(key !== undefined, stderr);
  return key;
}

/** What tests look at of answers, which are JSON of any shape. */
interface OperatorAnswer {
  readonly id: string;
  /** Of a sign-in link. */
  readonly token: string;
}

/** Makes a request with an operator key, and fails unless it succeeds. */
export async function callAsOperator(
  { url }: Pick<BrowserStage, 'url'>,
  key: string,
  { method = 'GET', path, body }: { method?: string; path: string; body?: object },
): Promise<OperatorAnswer> {
  const answer = await fetch(`${url}/api/operator${path}`, {
    method,
    headers: { authorization: key, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  // Whoever looks at a member has called a route whose answer has it.
  return JSON.parse(text === '' ? '{}' : text) as OperatorAnswer;
}
