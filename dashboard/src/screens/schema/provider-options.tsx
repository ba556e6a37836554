import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type Collection, Failure } from '../../api/client.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { changeCollection } from '../../api/definitions.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import type { Field } from '../../parts/form/field.ts';
import { PartViews } from '../../parts/form/form-view.tsx';
import { useBoundForm } from '../../parts/form/use-bound-form.ts';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';

type Provider = Schemas['OAuth2Provider'] & { readonly clientSecret?: string };

const providersQuery = queryOptions({
  queryKey: ['sign-in providers'],
  queryFn: async ({ signal }) => call('GET /api/collections/meta/oauth2-providers', { signal }),
  staleTime: Infinity,
});

/** The sign-in providers of a collection. They are saved apart from its draft, which is kept in the browser: secrets must not be. */
export function ProviderOptions({ collection }: { readonly collection: Collection }) {
  const { data: known = [] } = useQuery(providersQuery);
  const { draft, error, isBusy, change, save } = useProviders(collection);
  const errors = errorsBelow('oauth2', error instanceof Failure ? error.fields : new Map());
  const form = useBoundForm({
    parts: [{ kind: 'switch', path: 'enabled', label: 'Enabled' }],
    values: draft,
    prefix: 'providers-',
    errors: new Map([...errors].filter(([path]) => path === 'enabled')),
    onChange: change,
  });
  const { providers } = draft;
  const setProviders = (next: readonly Provider[]): void => change({ ...draft, providers: next });
  const left = known.filter(({ name }) => providers.every((one) => one.name !== name));
  return (
    <div className="form-folded">
      {error !== undefined && <FailureNotice error={error} />}
      <PartViews form={form} parts={form.parts} />
      {providers.map((provider, index) => (
        <ProviderFields
          key={provider.name}
          provider={provider}
          title={known.find(({ name }) => name === provider.name)?.displayName ?? provider.name}
          errors={errorsBelow(`providers.${index}`, errors)}
          onChange={(next) => setProviders(providers.with(index, next))}
          onRemove={() => setProviders(providers.toSpliced(index, 1))}
        />
      ))}
      <LabelledField id="provider-new" label="Add a provider">
        <Combobox
          id="provider-new"
          label="Add a provider"
          value=""
          choices={left.map(({ name, displayName }) => ({
            value: name,
            label: name.startsWith('oidc') ? `OpenID Connect (${name})` : displayName,
          }))}
          onChange={(name) => setProviders([...providers, newProvider(name)])}
        />
      </LabelledField>
      <div>
        <Button tone="primary" disabled={isBusy} onClick={() => void save()}>
          Save providers
        </Button>
      </div>
    </div>
  );
}

/** What is wrong below a path, by the rest of each. */
function errorsBelow(path: string, errors: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const prefix = `${path}.`;
  return new Map(
    [...errors]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, message]) => [name.slice(prefix.length), message]),
  );
}

type ProviderDraft = Readonly<{ enabled: boolean; providers: readonly Provider[] }>;

function useProviders({ id, oauth2 }: Collection) {
  const queries = useQueryClient();
  const [changed, setChanged] = useState<ProviderDraft>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const { enabled, providers } = changed ?? oauth2 ?? { enabled: false, providers: [] };
  const draft: ProviderDraft = { enabled, providers };
  const save = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      await changeCollection(id, { oauth2: draft });
      await queries.invalidateQueries({ queryKey: collectionsQuery.queryKey });
      setChanged(undefined);
      showToast('Saved.');
    } catch (failure) {
      setError(failure);
    } finally {
      setIsBusy(false);
    }
  };
  return { draft, error, isBusy, change: setChanged, save };
}

function newProvider(name: string): Provider {
  const none = { clientId: '', authURL: '', tokenURL: '', userInfoURL: '', displayName: '' };
  return { name, ...none, pkce: null, extra: {} };
}

const fields: readonly Field[] = [
  { kind: 'text', path: 'clientId', label: 'Client ID', isMono: true },
  {
    kind: 'secret',
    path: 'clientSecret',
    label: 'Client secret',
    help: 'Never shown. Leave empty to keep the stored value.',
  },
];

const fieldsOfIssuer: readonly Field[] = [
  { kind: 'text', path: 'extra.issuer', label: 'Issuer', placeholder: 'https://login.example.com' },
  { kind: 'text', path: 'displayName', label: 'Name shown' },
];

interface ProviderFieldsProps {
  readonly provider: Provider;
  readonly title: string;
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (provider: Provider) => void;
  readonly onRemove: () => void;
}

function ProviderFields({ provider, title, errors, onChange, onRemove }: ProviderFieldsProps) {
  const isIssuer = provider.name.startsWith('oidc');
  const form = useBoundForm({
    parts: isIssuer ? [...fieldsOfIssuer, ...fields] : fields,
    values: provider,
    prefix: `${provider.name}-`,
    // Without an issuer the service wants the URLs that it would name.
    errors: new Map(
      [...errors].map(([path, message]) => [path.replace(/^authURL$/, 'extra.issuer'), message]),
    ),
    onChange,
  });
  return (
    <fieldset className="schema-panel">
      <legend>{title}</legend>
      <PartViews form={form} parts={form.parts} />
      <div>
        <Button tone="danger" onClick={onRemove}>
          Remove {title}
        </Button>
      </div>
    </fieldset>
  );
}
