import type { Attempt } from '../../api/events.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Notice } from '../../parts/notice.tsx';
import { HeaderTable } from './header-table.tsx';

/** What the receiver answered to an attempt, as text: whatever it sent, nothing of it becomes markup. */
export function ResponseTab({ attempt }: { readonly attempt: Attempt | undefined }) {
  if (attempt === undefined) return <p className="soft">No response: nothing was sent yet.</p>;
  const { number, status, cause, kind, responseHeaders = {}, responseBody = '' } = attempt;
  const headers = Object.entries(responseHeaders);
  return (
    <>
      <p>
        Answer to attempt {number}: <strong>{status ?? 'none'}</strong>
      </p>
      {cause !== '' && <Notice tone={kind === 'success' ? 'plain' : 'failed'}>{cause}</Notice>}
      {status !== null && headers.length > 0 && (
        <section className="section" aria-label="Response headers">
          <h3>Headers</h3>
          <HeaderTable headers={headers.map(([name, value]) => [name, textOf(value)])} />
        </section>
      )}
      {status !== null && (
        <section className="section" aria-label="Response body">
          <div className="section-head section-head-actions">
            <h3>Body</h3>
            {responseBody !== '' && <CopyButton text={responseBody} label="Copy the body" />}
          </div>
          {responseBody === '' ? (
            <p className="soft">It was empty.</p>
          ) : (
            <pre className="panel raw" tabIndex={0} aria-label="Body">
              {responseBody}
            </pre>
          )}
          <p className="soft small">
            The first 4 KiB are kept, or 1 KiB on success. Signatures and secrets are shown as ********.
          </p>
        </section>
      )}
    </>
  );
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.map(String).join(', ') : String(value);
}
