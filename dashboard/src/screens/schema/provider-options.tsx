import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type Collection, Failure } from '../../api/client.ts';
import { collectionsQuery } from '../../api/collections.ts';
import { changeCollection } from '../../api/definitions.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { PasswordInput } from '../../parts/password-input.tsx';
import { showToast } from '../../parts/toast.tsx';
import { FlagOption, TextOption } from './option-controls.tsx';

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
  if (draft === undefined) return null;
  const { enabled, providers } = draft;
  const errors = error instanceof Failure ? error.fields : new Map<string, string>();
  const left = known.filter(({ name }) => providers.every((one) => one.name !== name));
  const set = (name: string, members: Partial<Provider>): void =>
    change({ providers: providers.map((one) => (one.name === name ? { ...one, ...members } : one)) });
  return (
    <>
      {error !== undefined && <FailureNotice error={error} />}
      <FlagOption
        label="Enabled"
        value={enabled}
        error={errors.get('oauth2.enabled')}
        onChange={(isOn) => change({ enabled: isOn })}
      />
      {providers.map((provider, index) => (
        <ProviderFields
          key={provider.name}
          provider={provider}
          title={known.find(({ name }) => name === provider.name)?.displayName ?? provider.name}
          errorOf={(member) => errors.get(`oauth2.providers.${index}.${member}`)}
          onChange={(members) => set(provider.name, members)}
          onRemove={() => change({ providers: providers.filter(({ name }) => name !== provider.name) })}
        />
      ))}
      <LabelledField id="provider-new" label="Add a provider">
        <select
          id="provider-new"
          className="input"
          value=""
          onChange={(event) => change({ providers: [...providers, newProvider(event.target.value)] })}
        >
          <option value="">Choose…</option>
          {left.map(({ name, displayName }) => (
            <option key={name} value={name}>
              {name.startsWith('oidc') ? `OpenID Connect (${name})` : displayName}
            </option>
          ))}
        </select>
      </LabelledField>
      <div>
        <Button tone="primary" disabled={isBusy} onClick={() => void save()}>
          Save providers
        </Button>
      </div>
    </>
  );
}

interface ProviderDraft {
  readonly enabled: boolean;
  readonly providers: readonly Provider[];
}

function useProviders({ id, oauth2 }: Collection) {
  const queries = useQueryClient();
  const [changed, setChanged] = useState<ProviderDraft>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const draft: ProviderDraft | undefined = changed ?? oauth2;
  const save = async (): Promise<void> => {
    if (draft === undefined) return;
    setIsBusy(true);
    setError(undefined);
    try {
      await changeCollection(id, { oauth2: { enabled: draft.enabled, providers: draft.providers } });
      await queries.invalidateQueries({ queryKey: collectionsQuery.queryKey });
      setChanged(undefined);
      showToast('Saved.');
    } catch (failure) {
      setError(failure);
    } finally {
      setIsBusy(false);
    }
  };
  const change = (members: Partial<ProviderDraft>): void => {
    if (draft === undefined) return;
    setChanged({ enabled: draft.enabled, providers: draft.providers, ...members });
  };
  return { draft, error, isBusy, change, save };
}

function newProvider(name: string): Provider {
  const none = { clientId: '', authURL: '', tokenURL: '', userInfoURL: '', displayName: '' };
  return { name, ...none, pkce: null, extra: {} };
}

interface ProviderFieldsProps {
  readonly provider: Provider;
  readonly title: string;
  readonly errorOf: (member: string) => string | undefined;
  readonly onChange: (members: Partial<Provider>) => void;
  readonly onRemove: () => void;
}

function ProviderFields({ provider, title, errorOf, onChange, onRemove }: ProviderFieldsProps) {
  const { name, clientId, clientSecret = '', displayName, extra } = provider;
  const secretId = `${name}-secret`;
  return (
    <fieldset className="schema-panel">
      <legend>{title}</legend>
      {name.startsWith('oidc') && (
        <>
          <TextOption
            label="Issuer"
            placeholder="https://login.example.com"
            value={extra.issuer ?? ''}
            error={errorOf('extra.issuer') ?? errorOf('authURL')}
            onChange={(issuer) => onChange({ extra: issuer === '' ? {} : { issuer } })}
          />
          <TextOption
            label="Name shown"
            value={displayName}
            error={errorOf('displayName')}
            onChange={(text) => onChange({ displayName: text })}
          />
        </>
      )}
      <TextOption
        label="Client ID"
        isMono
        value={clientId}
        error={errorOf('clientId')}
        onChange={(text) => onChange({ clientId: text })}
      />
      <LabelledField
        id={secretId}
        label="Client secret"
        help="Never shown. Leave empty to keep the stored value."
        error={errorOf('clientSecret')}
      >
        <PasswordInput
          id={secretId}
          autoComplete="new-password"
          value={clientSecret}
          onChange={(event) => onChange({ clientSecret: event.target.value })}
        />
      </LabelledField>
      <div>
        <Button tone="danger" onClick={onRemove}>
          Remove {title}
        </Button>
      </div>
    </fieldset>
  );
}
