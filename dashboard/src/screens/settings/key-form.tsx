import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { apiUrl, call } from '../../api/client.ts';
import { useOwnCollections } from '../../api/collections.ts';
import { keysQuery } from '../../api/keys.ts';
import { endpointsQuery } from '../../api/last-day.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { FormView } from '../../parts/form/form-view.tsx';
import { useForm } from '../../parts/form/use-form.ts';
import { blankKey, KeyOnce, keyParts, toKey } from '../../parts/key-fields.tsx';
import { endpointChoices } from './endpoint-choices.ts';

/** Makes a key, and shows it once: what is left of it afterwards is only a digest, at the service. */
export function KeyForm({ onClose }: { readonly onClose: () => void }) {
  const queries = useQueryClient();
  const collections = useOwnCollections();
  const { data: endpoints = [] } = useQuery(endpointsQuery);
  const [made, setMade] = useState<Omit<MadeKeyProps, 'onClose'>>();
  const form = useForm({
    name: 'key',
    parts: keyParts({
      collections: collections.map(({ id, name }) => ({ value: id, label: name })),
      endpoints: endpointChoices(endpoints),
    }),
    values: blankKey,
    isNew: true,
    save: async (values) => {
      const body = toKey(values);
      const { key } = await call('POST /api/keys', { body });
      setMade({ apiKey: key, name: body.name, isPortal: (body.endpoints ?? null) !== null });
      await queries.invalidateQueries({ queryKey: keysQuery.queryKey });
    },
  });
  if (made !== undefined) return <MadeKey {...made} onClose={onClose} />;
  return (
    <div className="panel settings-card">
      <h2>New API key</h2>
      <FormView form={form} action="Create key" onCancel={onClose} />
    </div>
  );
}

interface MadeKeyProps {
  readonly apiKey: string;
  readonly name: string;
  /** Whether it is for somebody who looks after endpoints of their own. */
  readonly isPortal: boolean;
  readonly onClose: () => void;
}

function MadeKey({ apiKey, name, isPortal, onClose }: MadeKeyProps) {
  return (
    <div className="panel settings-card">
      <h2>The key for {name}</h2>
      <KeyOnce text={apiKey} />
      {isPortal && (
        <>
          <p className="soft">Use it to sign in to this dashboard at:</p>
          <Code text={`${apiUrl}/_/login?with=key`} />
        </>
      )}
      <p className="soft">Send it with each request:</p>
      <Code
        text={`curl ${apiUrl}/api/${isPortal ? 'webhooks/deliveries' : 'collections/NAME/records'} \\\n  -H "Authorization: Bearer $KEY"`}
      />
      <div className="settings-actions">
        <Button tone="primary" onClick={onClose}>
          I’ve copied it
        </Button>
      </div>
    </div>
  );
}
