import { useState, type FormEvent } from 'react';
import { call, Failure } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { Group } from './draft-fields.tsx';
import { mailTemplates, type TemplateName } from './mail-templates.ts';

interface ChosenMail {
  readonly template: TemplateName;
  /** Whose accounts it is for. */
  readonly collection: string;
}

/** Sends one of the mails, with values that are made up. */
export function MailTest({ isChanged }: { readonly isChanged: boolean }) {
  const session = useSession();
  const [email, setEmail] = useState(session?.key === undefined ? (session?.label ?? '') : '');
  const [mail, setMail] = useState<ChosenMail>({ template: 'verification', collection: '_superusers' });
  const [sentTo, setSentTo] = useState('');
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const fields = error instanceof Failure ? error.fields : new Map<string, string>();
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    setSentTo('');
    setError(undefined);
    try {
      await call('POST /api/settings/test/email', { body: { email, ...mail } });
      setSentTo(email);
    } catch (failure) {
      setError(failure);
    }
    setIsBusy(false);
  };
  return (
    <form className="settings-form" noValidate onSubmit={(event) => void send(event)}>
      <Group title="Send a test mail" lead="By the saved settings, with values that are made up.">
        {error !== undefined && fields.size === 0 && <FailureNotice error={error} />}
        {sentTo !== '' && <Notice tone="ok">The mail server has taken the mail to {sentTo}.</Notice>}
        <LabelledField id="test-email" label="To" error={fields.get('email')}>
          <input
            id="test-email"
            className="input"
            type="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            {...errorAttributes('test-email', fields.get('email'))}
          />
        </LabelledField>
        <MailChoice
          {...mail}
          error={fields.get('collection')}
          onChange={(members) => setMail({ ...mail, ...members })}
        />
        <div>
          <Button type="submit" disabled={isBusy || isChanged}>
            {isChanged ? 'Save before the test' : 'Send the test mail'}
          </Button>
        </div>
      </Group>
    </form>
  );
}

interface MailChoiceProps extends ChosenMail {
  readonly error: string | undefined;
  readonly onChange: (members: Partial<ChosenMail>) => void;
}

function MailChoice({ template, collection, error, onChange }: MailChoiceProps) {
  const collections = useLoadedCollections()?.filter(({ type }) => type === 'auth') ?? [];
  return (
    <div className="settings-pair">
      <LabelledField id="test-template" label="Mail">
        <select
          id="test-template"
          className="input"
          value={template}
          onChange={(event) =>
            onChange({
              template: mailTemplates.find(({ name }) => name === event.target.value)?.name ?? template,
            })
          }
        >
          {mailTemplates.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </LabelledField>
      <LabelledField id="test-collection" label="Of" error={error}>
        <select
          id="test-collection"
          className="input"
          value={collection}
          onChange={(event) => onChange({ collection: event.target.value })}
        >
          {collections.map(({ id, name }) => (
            <option key={id} value={name}>
              {name}
            </option>
          ))}
        </select>
      </LabelledField>
    </div>
  );
}
