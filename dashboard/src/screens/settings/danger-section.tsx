import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { call, type Collection } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { showToast } from '../../parts/toast.tsx';
import { Group } from '../../parts/form/group.tsx';

type Danger = { readonly kind: 'logs' } | { readonly kind: 'sessions'; readonly collection: Collection };

/** What nothing brings back. Each wants its name first. */
export function DangerSection() {
  const [danger, setDanger] = useState<Danger>();
  const accounts = useLoadedCollections()?.filter(({ type }) => type === 'auth') ?? [];
  return (
    <>
      <Group
        title="End all sessions"
        lead="Replaces the token secret of a collection. Everyone in it must sign in again, and links in emails already sent stop working."
      >
        <ul className="panel settings-list">
          {accounts.map((collection) => (
            <DangerRow
              key={collection.id}
              name={collection.name}
              action="End the sessions …"
              onSelect={() => setDanger({ kind: 'sessions', collection })}
            >
              {collection.name === '_superusers' ? 'Your own session too.' : 'Accounts of this collection.'}
            </DangerRow>
          ))}
        </ul>
      </Group>
      <Group title="Delete the request log">
        <ul className="panel settings-list">
          <DangerRow
            name="All entries"
            action="Delete the entries …"
            onSelect={() => setDanger({ kind: 'logs' })}
          >
            The audit log stays.
          </DangerRow>
        </ul>
      </Group>
      {danger?.kind === 'logs' && <ForgetLogs onClose={() => setDanger(undefined)} />}
      {danger?.kind === 'sessions' && (
        <EndSessions collection={danger.collection} onClose={() => setDanger(undefined)} />
      )}
    </>
  );
}

interface DangerRowProps {
  readonly name: string;
  readonly action: string;
  readonly onSelect: () => void;
  readonly children: ReactNode;
}

function DangerRow({ name, action, onSelect, children }: DangerRowProps) {
  return (
    <li className="settings-row">
      <span className="settings-row-main">
        <span className="settings-row-title cut">{name}</span>
        <span className="soft">{children}</span>
      </span>
      <Button onClick={onSelect} aria-label={`${action} ${name}`}>
        {action}
      </Button>
    </li>
  );
}

function ForgetLogs({ onClose }: { readonly onClose: () => void }) {
  const queries = useQueryClient();
  return (
    <Confirm
      title="Delete all entries of the request log?"
      action="Delete them"
      typed="request log"
      onClose={onClose}
      onConfirm={async () => {
        await call('DELETE /api/logs');
        await queries.invalidateQueries({ queryKey: ['logs'] });
        showToast('The request log is empty.');
      }}
    >
      The request log is permanently deleted.
    </Confirm>
  );
}

const tokenKinds = [
  'authToken',
  'passwordResetToken',
  'emailChangeToken',
  'verificationToken',
  'fileToken',
] as const;

function EndSessions({
  collection: { id, name },
  onClose,
}: {
  readonly collection: Collection;
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      title={`End all sessions of ${name}?`}
      action="End the sessions"
      typed={name}
      onClose={onClose}
      onConfirm={async () => {
        const body = Object.fromEntries(tokenKinds.map((kind) => [kind, { secret: newSecret() }]));
        await call('PATCH /api/collections/{collection}', { path: { collection: id }, body });
        showToast(`All sessions of ${name} have ended.`);
      }}
    >
      Existing tokens and links stop working.
    </Confirm>
  );
}

/** 50 random characters. Nobody needs to know them: only the service uses them. */
function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(50));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join('');
}
