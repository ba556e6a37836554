import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { apiUrl, call, Failure } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { keysQuery, type KeyScope } from '../../api/keys.ts';
import { endpointsQuery } from '../../api/last-day.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { ExpiryField, KeyOnce, NameField, ScopeBoxes } from '../../parts/key-fields.tsx';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';

interface NewKey {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly collections: readonly string[];
  readonly endpoints: readonly string[];
  /** As the control of the browser has it, in local time; empty for never. */
  readonly expires: string;
}

/** Only a key of records can be bound to collections. */
function isOfRecords({ scopes }: NewKey): boolean {
  return scopes.length > 0 && scopes.every((scope) => scope.startsWith('records:'));
}

/** Only a key of webhooks can be bound to endpoints. */
function isOfWebhooks({ scopes }: NewKey): boolean {
  return scopes.length > 0 && scopes.every((scope) => scope.startsWith('webhooks:'));
}

function toBody(key: NewKey) {
  const { name, scopes, collections, endpoints, expires } = key;
  return {
    name,
    scopes,
    collections: isOfRecords(key) && collections.length > 0 ? collections : null,
    endpoints: isOfWebhooks(key) && endpoints.length > 0 ? endpoints : null,
    expires: expires === '' ? '' : new Date(expires).toISOString(),
  };
}

const blankKey: NewKey = { name: '', scopes: [], collections: [], endpoints: [], expires: '' };

/** Makes a key, and shows it once: what is left of it afterwards is only a digest, at the service. */
export function KeyForm({ onClose }: { readonly onClose: () => void }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<NewKey>(blankKey);
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const [made, setMade] = useState('');
  const fields = error instanceof Failure ? error.fields : new Map<string, string>();
  const create = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    setError(undefined);
    try {
      setMade((await call('POST /api/keys', { body: toBody(draft) })).key);
      await queries.invalidateQueries({ queryKey: keysQuery.queryKey });
    } catch (failure) {
      setError(failure);
    }
    setIsBusy(false);
  };
  if (made !== '')
    return (
      <MadeKey
        apiKey={made}
        name={draft.name}
        isPortal={toBody(draft).endpoints !== null}
        onClose={onClose}
      />
    );
  const change = (members: Partial<NewKey>): void => setDraft({ ...draft, ...members });
  return (
    <form className="panel settings-card" noValidate onSubmit={(event) => void create(event)}>
      <h2>New API key</h2>
      {error !== undefined && fields.size === 0 && <FailureNotice error={error} />}
      <NameField name={draft.name} error={fields.get('name')} onChange={(name) => change({ name })} />
      <ScopeBoxes
        scopes={draft.scopes}
        error={fields.get('scopes')}
        onChange={(scopes) => change({ scopes })}
      />
      {isOfRecords(draft) && (
        <CollectionBoxes
          chosen={draft.collections}
          error={fields.get('collections')}
          onChange={(collections) => change({ collections })}
        />
      )}
      {isOfWebhooks(draft) && (
        <EndpointBoxes
          chosen={draft.endpoints}
          error={fields.get('endpoints')}
          onChange={(endpoints) => change({ endpoints })}
        />
      )}
      <ExpiryField
        expires={draft.expires}
        error={fields.get('expires')}
        onChange={(expires) => change({ expires })}
      />
      <div className="settings-actions">
        <Button type="submit" tone="primary" disabled={isBusy}>
          Make the key
        </Button>
        <Button tone="quiet" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

interface BoxesProps<Value extends string> {
  readonly error: string | undefined;
  readonly onChange: (values: readonly Value[]) => void;
}

function CollectionBoxes({
  chosen,
  error,
  onChange,
}: BoxesProps<string> & { readonly chosen: readonly string[] }) {
  const collections = useLoadedCollections()?.filter(({ system }) => !system) ?? [];
  return (
    <LabelledField
      id="key-collections"
      label="Only of these collections"
      isGroup
      error={error}
      help="None: the records of all."
    >
      <div className="choices">
        {collections.map(({ id, name }) => (
          <button
            key={id}
            type="button"
            className="choice"
            aria-pressed={chosen.includes(id)}
            onClick={() =>
              onChange(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id])
            }
          >
            {name}
          </button>
        ))}
      </div>
    </LabelledField>
  );
}

/** For whoever receives the webhooks: a customer is given the part that is theirs. */
function EndpointBoxes({
  chosen,
  error,
  onChange,
}: BoxesProps<string> & { readonly chosen: readonly string[] }) {
  const { data: endpoints = [] } = useQuery(endpointsQuery);
  if (endpoints.length === 0) return null;
  return (
    <LabelledField
      id="key-endpoints"
      label="Only for these endpoints"
      isGroup
      error={error}
      help="None: all of them. With some, whoever has the key sees and looks after these alone: a portal for a customer."
    >
      <div className="settings-boxes settings-boxes-tall" tabIndex={-1}>
        {endpoints.map(({ id, url, description }) => (
          <label key={id} className="settings-box" aria-label={description === '' ? url : description}>
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              onChange={(event) =>
                onChange(event.target.checked ? [...chosen, id] : chosen.filter((one) => one !== id))
              }
            />
            <span>
              <span className="cut">{description === '' ? url : description}</span>
              {description !== '' && <span className="soft cut">{url}</span>}
            </span>
          </label>
        ))}
      </div>
    </LabelledField>
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
          <p className="soft">Whoever has it signs in to their part of this dashboard at:</p>
          <Code text={`${apiUrl}/_/login?with=key`} />
        </>
      )}
      <p className="soft">It is sent with each request:</p>
      <Code
        text={`curl ${apiUrl}/api/${isPortal ? 'webhooks/deliveries' : 'collections/NAME/records'} \\\n  -H "Authorization: Bearer $KEY"`}
      />
      <div className="settings-actions">
        <Button tone="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </div>
  );
}
