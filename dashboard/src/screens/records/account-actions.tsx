import KeyRound from 'lucide-react/icons/key-round';
import LogOut from 'lucide-react/icons/log-out';
import MailCheck from 'lucide-react/icons/mail-check';
import UserRound from 'lucide-react/icons/user-round';
import { useEffect, useId, useRef, useState } from 'react';
import { call, type Collection, type RecordModel } from '../../api/client.ts';
import { updateRecord } from '../../api/records.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Menu, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';

interface AccountActionsProps {
  readonly collection: Collection;
  readonly record: RecordModel;
}

/** What superusers do for an account: mails to its owner, a token in its name, the end of its sessions. */
export function AccountActions({ collection, record }: AccountActionsProps) {
  const [token, setToken] = useState<string>();
  const [isEnding, setIsEnding] = useState(false);
  const [error, setError] = useState<unknown>();
  const email = emailOf(record);
  const attempt = async (work: () => Promise<unknown>, done?: string): Promise<void> => {
    setError(undefined);
    try {
      await work();
      if (done !== undefined) showToast(done);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <div className="account">
      <span className="chip" data-verified={record['verified'] === true}>
        {record['verified'] === true ? 'verified' : 'not verified'}
      </span>
      <AccountMenu {...{ collection, record, attempt }} onToken={setToken} onEnd={() => setIsEnding(true)} />
      {error !== undefined && <FailureNotice error={error} />}
      {token !== undefined && <TokenDialog token={token} email={email} onClose={() => setToken(undefined)} />}
      {isEnding && (
        <Confirm
          title="End all sessions?"
          action="End all sessions"
          onClose={() => setIsEnding(false)}
          onConfirm={async () => {
            // Tokens are signed with it, too: with another one, none of before is good.
            await updateRecord(
              { collection: collection.name, id: record.id, etag: undefined },
              { tokenKey: newTokenKey() },
            );
            showToast('All sessions have ended.');
          }}
        >
          Every token of {email === '' ? record.id : email} stops at once. Its owner has to sign in again.
        </Confirm>
      )}
    </div>
  );
}

interface AccountMenuProps extends AccountActionsProps {
  readonly attempt: (work: () => Promise<unknown>, done?: string) => Promise<void>;
  readonly onToken: (token: string) => void;
  readonly onEnd: () => void;
}

function AccountMenu({ collection, record, attempt, onToken, onEnd }: AccountMenuProps) {
  const path = { collection: collection.name };
  const email = emailOf(record);
  return (
    <Menu trigger={<Button icon={UserRound}>Account</Button>}>
      {record['verified'] !== true && (
        <MenuItem
          icon={MailCheck}
          onSelect={() =>
            void attempt(
              async () =>
                call('POST /api/collections/{collection}/request-verification', { path, body: { email } }),
              `A mail to verify ${email} was sent.`,
            )
          }
        >
          Send a verification mail
        </MenuItem>
      )}
      <MenuItem
        icon={KeyRound}
        onSelect={() =>
          void attempt(
            async () =>
              call('POST /api/collections/{collection}/request-password-reset', { path, body: { email } }),
            `A mail to reset the password of ${email} was sent.`,
          )
        }
      >
        Send a password reset mail
      </MenuItem>
      <MenuLine />
      <MenuItem
        icon={UserRound}
        onSelect={() =>
          void attempt(async () => {
            const answer = await call('POST /api/collections/{collection}/impersonate/{id}', {
              path: { ...path, id: record.id },
              body: { duration: impersonationSeconds },
            });
            onToken(answer.token);
          })
        }
      >
        Impersonate …
      </MenuItem>
      <MenuItem icon={LogOut} tone="danger" onSelect={onEnd}>
        End all sessions …
      </MenuItem>
    </Menu>
  );
}

function emailOf(record: RecordModel): string {
  return typeof record['email'] === 'string' ? record['email'] : '';
}

const impersonationSeconds = 3600;
const tokenKeyBytes = 32;

function newTokenKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(tokenKeyBytes));
  return [...bytes]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .slice(0, 50);
}

interface TokenDialogProps {
  readonly token: string;
  readonly email: string;
  readonly onClose: () => void;
}

/** The token, once: when the dialog is closed it is nowhere. */
function TokenDialog({ token, email, onClose }: TokenDialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog className="dialog" ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>A token of {email}</h2>
      <div className="dialog-body">
        <Notice tone="retrying">
          For one hour, this token allows everything that {email} can. It is shown only now.
        </Notice>
        <div className="token">
          <code className="mono">{token}</code>
          <CopyButton text={token} label="Copy the token" />
        </div>
      </div>
      <div className="dialog-actions">
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </dialog>
  );
}
