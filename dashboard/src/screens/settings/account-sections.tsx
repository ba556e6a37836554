import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { call, type Collection } from '../../api/client.ts';
import { collectionsQuery, useLoadedCollections } from '../../api/collections.ts';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { duration } from '../../parts/time.tsx';
import {
  DraftForm,
  Group,
  LinesSetting,
  NumberSetting,
  SwitchSetting,
  TextSetting,
} from './draft-fields.tsx';
import { commonPlaceholders, mailTemplates } from './mail-templates.ts';
import { type Draft, useDraft } from './use-draft.ts';

const route = getRouteApi('/shell/settings/$section');

/** How accounts sign in, and how long what they get is good for. */
export function AccountSection() {
  const { collection, picker } = useAccountCollection();
  return (
    <>
      {picker}
      {collection !== undefined && <AccountForm key={collection.id} collection={collection} />}
    </>
  );
}

const tokens = [
  { path: 'authToken', label: 'A session' },
  { path: 'passwordResetToken', label: 'A link that resets a password' },
  { path: 'emailChangeToken', label: 'A link that changes an address' },
  { path: 'verificationToken', label: 'A link that verifies an address' },
  { path: 'fileToken', label: 'A link to a protected file' },
] as const;

function AccountForm({ collection }: { readonly collection: Collection }) {
  const draft = useCollectionDraft('accounts', collection);
  return (
    <DraftForm draft={draft}>
      <Group title="Password">
        <SwitchSetting draft={draft} path="passwordAuth.enabled" label="Sign in with a password" />
        <LinesSetting
          draft={draft}
          path="passwordAuth.identityFields"
          label="Fields that name the account"
          help="Each needs a unique index."
        />
      </Group>
      <Group title="One-time codes by mail">
        <SwitchSetting draft={draft} path="otp.enabled" label="Sign in with a code" />
        <div className="settings-pair">
          <NumberSetting draft={draft} path="otp.length" label="Digits" />
          <NumberSetting draft={draft} path="otp.duration" label="Good for" unit="seconds" />
        </div>
      </Group>
      <Group title="Two factors" lead="Both ways to sign in, in any order. Two ways have to be on.">
        <SwitchSetting draft={draft} path="mfa.enabled" label="Require two factors" />
        <div className="settings-pair">
          <NumberSetting draft={draft} path="mfa.duration" label="Time for the second one" unit="seconds" />
          <TextSetting
            draft={draft}
            path="mfa.rule"
            label="Only for accounts that match"
            help="A rule. Empty: for all."
          />
        </div>
      </Group>
      <Group title="Alerts">
        <SwitchSetting
          draft={draft}
          path="authAlert.enabled"
          label="Mail accounts about a sign-in from a new place"
        />
      </Group>
      <Group title="How long tokens are good for">
        {tokens.map(({ path, label }) => (
          <NumberSetting
            key={path}
            draft={draft}
            path={`${path}.duration`}
            label={label}
            unit="seconds"
            help={durationHelp(draft.number(`${path}.duration`))}
          />
        ))}
      </Group>
    </DraftForm>
  );
}

function durationHelp(seconds: number): string {
  return Number.isNaN(seconds) || seconds < 60 ? '' : `About ${duration(seconds)}.`;
}

/** What mails to accounts say. */
export function TemplateSection() {
  const { template = 'verification' } = route.useSearch();
  const navigate = route.useNavigate();
  const { collection, picker } = useAccountCollection();
  const shown = mailTemplates.find(({ name }) => name === template) ?? mailTemplates[0];
  if (shown === undefined) return null;
  return (
    <>
      {picker}
      <div className="segments settings-segments" role="tablist" aria-label="Mail">
        {mailTemplates.map(({ name, label }) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={name === shown.name}
            onClick={() =>
              void navigate({ search: (before) => ({ ...before, template: name }), replace: true })
            }
          >
            {label}
          </button>
        ))}
      </div>
      {collection !== undefined && (
        <TemplateForm
          key={`${collection.id}${shown.name}`}
          collection={collection}
          path={shown.path}
          placeholders={shown.placeholders}
        />
      )}
    </>
  );
}

interface TemplateFormProps {
  readonly collection: Collection;
  readonly path: string;
  readonly placeholders: readonly string[];
}

function TemplateForm({ collection, path, placeholders }: TemplateFormProps) {
  const draft = useCollectionDraft(path, collection);
  const isOff = path.includes('.') && !draft.flag(path.replace(/\..*/, '.enabled'));
  return (
    <DraftForm draft={draft}>
      {isOff && (
        <Notice>
          This mail is not sent, as it is switched off under{' '}
          <Link
            to="/settings/$section"
            params={{ section: 'accounts' }}
            search={{ collection: collection.name }}
            className="link"
          >
            Accounts
          </Link>
          .
        </Notice>
      )}
      <Group title="Template">
        <TextSetting draft={draft} path={`${path}.subject`} label="Subject" />
        <BodySetting draft={draft} path={`${path}.body`} />
        <p className="field-help">
          Filled in:{' '}
          {[...placeholders, ...commonPlaceholders].map((name) => (
            <code key={name} className="settings-code">{`{${name}}`}</code>
          ))}
        </p>
      </Group>
    </DraftForm>
  );
}

function BodySetting({ draft, path }: { readonly draft: Draft; readonly path: string }) {
  const error = draft.error(path);
  return (
    <LabelledField
      id="template-body"
      label="Body"
      aside="HTML"
      error={error}
      help="A plain text is made of it for readers without HTML."
    >
      <textarea
        id="template-body"
        className="input mono"
        rows={10}
        value={draft.text(path)}
        spellCheck={false}
        onChange={(event) => draft.set(path, event.target.value)}
        {...errorAttributes('template-body', error)}
      />
    </LabelledField>
  );
}

/** A draft of the options of a collection of accounts. */
function useCollectionDraft(section: string, collection: Collection): Draft {
  const queries = useQueryClient();
  return useDraft({
    name: `${section}:${collection.id}`,
    values: { ...collection },
    save: async (body) => {
      await call('PATCH /api/collections/{collection}', { path: { collection: collection.id }, body });
      await queries.invalidateQueries({ queryKey: collectionsQuery.queryKey });
    },
  });
}

/** The collection that the address names, else the first one of people's own; and what chooses another. */
function useAccountCollection() {
  const { collection: name } = route.useSearch();
  const navigate = route.useNavigate();
  const all = useLoadedCollections()?.filter(({ type }) => type === 'auth') ?? [];
  const collection = all.find((one) => one.name === name) ?? all.find(({ system }) => !system) ?? all[0];
  const picker = (
    <LabelledField id="account-collection" label="Accounts of">
      <select
        id="account-collection"
        className="input settings-picker"
        value={collection?.name ?? ''}
        onChange={(event) =>
          void navigate({
            search: (before) => ({ ...before, collection: event.target.value }),
            replace: true,
          })
        }
      >
        {all.map((one) => (
          <option key={one.id} value={one.name}>
            {one.name}
          </option>
        ))}
      </select>
    </LabelledField>
  );
  return { collection, picker };
}
