import ExternalLink from 'lucide-react/icons/external-link';
import { useState } from 'react';
import { issueSignIn, type ManagedInstance } from '../../api/operator.ts';
import type { Schemas } from '../../api/schema.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Drawer } from '../../parts/drawer.tsx';
import { Time } from '../../parts/time.tsx';
import { DrawerForm, fieldsOf } from './drawer-form.tsx';
import { TextField } from './text-field.tsx';

interface SignInDrawerProps {
  readonly instance: ManagedInstance;
  readonly onClose: () => void;
}

/** Makes a link that signs in to the dashboard of an instance, once. */
export function SignInDrawer({ instance: { id, slug }, onClose }: SignInDrawerProps) {
  const [email, setEmail] = useState('');
  const [link, setLink] = useState<Schemas['InstanceSignIn']>();
  const { error, isBusy, attempt } = useAttempt();
  return (
    <Drawer title={`Dashboard of ${slug}`} onClose={onClose}>
      {link === undefined ? (
        <DrawerForm
          error={error}
          isBusy={isBusy}
          action="Create sign-in link"
          onSubmit={() => attempt(async () => setLink(await issueSignIn(id, email.trim())))}
        >
          <TextField
            id="sign-in-email"
            label="Superuser email"
            aside="optional"
            help="Leave empty for the first superuser. The sign-in is audited."
            value={email}
            error={fieldsOf(error).get('email')}
            autoFocus
            onChange={setEmail}
          />
        </DrawerForm>
      ) : (
        <div className="drawer-form">
          <p>
            Signs in once as <strong className="wrap">{link.email}</strong>, until{' '}
            <Time value={link.expires} />.
          </p>
          <div className="settings-actions">
            <a
              className="button"
              data-tone="primary"
              href={link.url}
              target="_blank"
              rel="noreferrer"
              // It works once.
              onClick={onClose}
            >
              <ExternalLink size={14} aria-hidden />
              Open dashboard
            </a>
            <CopyButton text={link.url} label="Copy the link" small={false} />
          </div>
        </div>
      )}
    </Drawer>
  );
}
