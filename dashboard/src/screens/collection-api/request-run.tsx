import { useMutation, useQueryClient } from '@tanstack/react-query';
import Play from 'lucide-react/icons/play';
import { useState } from 'react';
import { apiUrl, client } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { JsonView } from '../../parts/json-view.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import type { Request } from './operations.ts';

interface RequestRunProps {
  readonly request: Request;
  readonly id: string;
  readonly needsId: boolean;
}

/** What came back, as it came: a refusal is an answer, too. */
interface Answer {
  readonly status: number;
  readonly elapsedMs: number;
  readonly requestId: string;
  readonly body: unknown;
}

/** Sends the request, as oneself or as a guest, and shows what the service answers. A delete asks for the id first. */
export function RequestRun({ request, id, needsId }: RequestRunProps) {
  const queries = useQueryClient();
  const [isGuest, setIsGuest] = useState(false);
  const [isAsking, setIsAsking] = useState(false);
  const run = useMutation({
    mutationFn: async () => send(request, isGuest),
    onSuccess: () => {
      if (request.method !== 'GET') void queries.invalidateQueries({ queryKey: ['records'] });
    },
  });
  return (
    <section className="api-run" aria-label="Run">
      <div className="schema-actions">
        <Button
          icon={Play}
          tone="primary"
          disabled={run.isPending || (needsId && id === '')}
          onClick={() => (request.method === 'DELETE' ? setIsAsking(true) : run.mutate())}
        >
          Run
        </Button>
        <label className="switch">
          <input type="checkbox" checked={isGuest} onChange={({ target }) => setIsGuest(target.checked)} />
          Without a token
        </label>
      </div>
      {run.error !== null && <FailureNotice error={run.error} />}
      {run.data !== undefined && <AnswerView answer={run.data} />}
      {isAsking && (
        <Confirm
          title="Delete this record?"
          action="Delete the record"
          typed={id}
          onClose={() => setIsAsking(false)}
          onConfirm={async () => {
            await run.mutateAsync();
          }}
        >
          This sends the request and permanently deletes the record.
        </Confirm>
      )}
    </section>
  );
}

async function send({ method, path, body }: Request, isGuest: boolean): Promise<Answer> {
  const { token } = client.authStore;
  const begun = performance.now();
  const response = await fetch(apiUrl + path, {
    method,
    headers: {
      ...(!isGuest && { authorization: token }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    elapsedMs: Math.round(performance.now() - begun),
    requestId: response.headers.get('x-request-id') ?? '',
    body: parse(text),
  };
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function AnswerView({ answer }: { readonly answer: Answer }) {
  const { status, elapsedMs, requestId, body } = answer;
  return (
    <div className="api-answer" role="status">
      <div className="api-answer-head">
        <span className="badge" data-tone={status < 400 ? 'ok' : 'failed'}>
          {status < 400 ? '✓' : '✕'} {status}
        </span>
        <span className="soft">{elapsedMs} ms</span>
        {requestId !== '' && <span className="faint mono cut">{requestId}</span>}
        {body !== undefined && <CopyButton text={JSON.stringify(body, null, 2)} label="Copy the JSON" />}
      </div>
      {body === undefined ? <p className="soft api-none">No content.</p> : <JsonView value={body} />}
    </div>
  );
}
