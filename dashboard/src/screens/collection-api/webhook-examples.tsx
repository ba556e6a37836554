import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { mayUse } from '../../api/session.ts';
import { Code } from '../../parts/code.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Section } from '../../parts/section.tsx';

/** What webhooks say of the records of a collection: an example of each kind, and its schema. */
export function WebhookExamples({ collection }: { readonly collection: string }) {
  const isShown = mayUse('webhooks:read') && !collection.startsWith('_');
  const { data, error, refetch } = useQuery({
    queryKey: ['event-types', collection],
    queryFn: async ({ signal }) => call('GET /api/webhooks/event-types', { query: { collection }, signal }),
    enabled: isShown,
  });
  if (!isShown) return null;
  const types = data?.items.filter((item) => item.collection === collection) ?? [];
  return (
    <Section title="What its webhooks contain">
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {types.map(({ type, example, schema }) => (
        <details key={type} className="endpoint-more">
          <summary className="mono">{type}</summary>
          <Code text={JSON.stringify(example, null, 2)} />
          <p className="soft small">JSON schema of the body:</p>
          <Code text={JSON.stringify(schema, null, 2)} />
        </details>
      ))}
    </Section>
  );
}
