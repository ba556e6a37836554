import type { Attempt } from '../../api/events.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Facts, HeaderFacts } from '../../parts/facts.tsx';
import { Notice } from '../../parts/notice.tsx';
import { milliseconds } from '../../parts/percent.ts';
import { RawText, Section } from '../../parts/section.tsx';
import { plural, Time } from '../../parts/time.tsx';

/** What the receiver answered to an attempt, as text: whatever it sent, nothing of it becomes markup. */
export function ResponseTab({ attempt }: { readonly attempt: Attempt | undefined }) {
  if (attempt === undefined) return <p className="soft">No response: nothing was sent yet.</p>;
  const { number, status, cause, kind, responseHeaders = {}, responseBody = '' } = attempt;
  return (
    <>
      <p>
        Answer to attempt {number}: <strong>{status ?? 'none'}</strong>
      </p>
      {cause !== '' && <Notice tone={kind === 'success' ? 'plain' : 'failed'}>{cause}</Notice>}
      <Connection attempt={attempt} />
      {status !== null && Object.keys(responseHeaders).length > 0 && (
        <Section level={3} label="Response headers" title="Headers">
          <HeaderFacts headers={responseHeaders} />
        </Section>
      )}
      {status !== null && (
        <Section
          level={3}
          label="Response body"
          title="Body"
          actions={responseBody !== '' && <CopyButton text={responseBody} label="Copy the body" />}
        >
          {responseBody === '' ? (
            <p className="soft">It was empty.</p>
          ) : (
            <RawText label="Body" text={responseBody} />
          )}
          <p className="soft small">
            The first 4 KiB are kept, or 1 KiB on success. Signatures and secrets are shown as ********.
          </p>
        </Section>
      )}
    </>
  );
}

/** When it was sent, on which connection, and how long each step took. */
function Connection({ attempt }: { readonly attempt: Attempt }) {
  const { started, dnsMs, connectMs, tlsMs, firstByteMs, totalMs, batch } = attempt;
  const isReused = connectMs === null && firstByteMs !== null;
  return (
    <Facts
      label="Connection"
      items={{
        Sent: <Time value={started} />,
        Connection: isReused
          ? 'Reused'
          : connectMs !== null && (tlsMs === null ? 'New, without TLS' : 'New, TLS'),
        DNS: dnsMs !== null && milliseconds(dnsMs),
        Connect: connectMs !== null && milliseconds(connectMs),
        TLS: tlsMs !== null && milliseconds(tlsMs),
        'First byte': firstByteMs !== null && `${milliseconds(firstByteMs)} after the start`,
        Total: milliseconds(totalMs),
        Batch: batch?.size !== undefined && plural(batch.size, 'event'),
      }}
    />
  );
}
