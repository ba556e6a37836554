import { useQueryClient } from '@tanstack/react-query';
import { call, type Collection } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Group } from '../../parts/form/group.tsx';
import { plural } from '../../parts/time.tsx';

const columns: readonly DataColumn<Collection>[] = [
  { id: 'name', label: 'Collection', size: 160, kind: 'main', cell: ({ name }) => name },
  {
    id: 'whose',
    label: 'Whose sessions',
    size: 240,
    kind: 'wide',
    cell: ({ name }) => (name === '_superusers' ? 'Your own session too.' : 'Accounts of this collection.'),
  },
  {
    id: 'actions',
    label: 'Actions',
    size: 170,
    kind: 'number',
    cell: (row) => <EndSessions collection={row} />,
  },
];

/** What nothing brings back. Each wants its name first. */
export function DangerSection() {
  return (
    <>
      <Group
        title="End all sessions"
        lead="Replaces the token secret of a collection. Everyone in it must sign in again, and links in emails already sent stop working."
      >
        <DataTable
          name="sessions"
          label="Collections of accounts"
          countOf={(count) => plural(count, 'collection')}
          columns={columns}
          rows={useLoadedCollections()?.filter(({ type }) => type === 'auth')}
          empty={null}
        />
      </Group>
      <Group title="Delete the request log" lead="The audit log stays.">
        <DeleteLog />
      </Group>
    </>
  );
}

function DeleteLog() {
  const queries = useQueryClient();
  return (
    <div>
      <ConfirmButton
        label="Delete the entries …"
        title="Delete all entries of the request log?"
        action="Delete them"
        typed="request log"
        done="The request log is empty."
        onConfirm={async () => {
          await call('DELETE /api/logs');
          await queries.invalidateQueries({ queryKey: ['logs'] });
        }}
      >
        The request log is permanently deleted.
      </ConfirmButton>
    </div>
  );
}

const tokenKinds = [
  'authToken',
  'passwordResetToken',
  'emailChangeToken',
  'verificationToken',
  'fileToken',
] as const;

function EndSessions({ collection: { id, name } }: { readonly collection: Collection }) {
  return (
    <ConfirmButton
      label="End the sessions …"
      button={{ 'aria-label': `End the sessions … ${name}` }}
      title={`End all sessions of ${name}?`}
      action="End the sessions"
      typed={name}
      done={`All sessions of ${name} have ended.`}
      onConfirm={async () => {
        const body = Object.fromEntries(tokenKinds.map((kind) => [kind, { secret: newSecret() }]));
        await call('PATCH /api/collections/{collection}', { path: { collection: id }, body });
      }}
    >
      Existing tokens and links stop working.
    </ConfirmButton>
  );
}

/** 50 random characters. Nobody needs to know them: only the service uses them. */
function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(50));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join('');
}
