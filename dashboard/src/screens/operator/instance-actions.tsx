import { type Query, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import Copy from 'lucide-react/icons/copy';
import Download from 'lucide-react/icons/download';
import Ellipsis from 'lucide-react/icons/ellipsis';
import ExternalLink from 'lucide-react/icons/external-link';
import KeyRound from 'lucide-react/icons/key-round';
import Pause from 'lucide-react/icons/pause';
import Pencil from 'lucide-react/icons/pencil';
import Play from 'lucide-react/icons/play';
import Trash2 from 'lucide-react/icons/trash-2';
import { useRef, useState } from 'react';
import { instanceQuery, type ManagedInstance, operatorKeys, takeStep } from '../../api/operator.ts';
import { callOperator, mayOperate, readArchive } from '../../api/operator-session.ts';
import { saveBlob } from '../../browser/save-blob.ts';
import { useToastedAttempt } from '../../parts/attempt-form.tsx';
import { Button, IconButton } from '../../parts/button.tsx';
import { Confirm, ConfirmButton } from '../../parts/confirm.tsx';
import { Menu, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { showToast } from '../../parts/toast.tsx';

interface OnInstance {
  readonly instance: ManagedInstance;
}

interface QuestionProps extends OnInstance {
  readonly onClose: () => void;
}

/** What can be done with an instance, as far as the key may. */
export function InstanceActions({ instance }: OnInstance) {
  const queries = useQueryClient();
  const open = useOpen(instance);
  const step = useStep(instance);
  const { id, slug, state } = instance;
  if (state !== 'active' && state !== 'suspended') return null;
  const mayWrite = mayOperate('instances:write');
  return (
    <>
      {state === 'active' && mayOperate('keys:write') && (
        <Button icon={ExternalLink} tone="primary" onClick={() => open('sign-in')}>
          <span className="endpoint-action">Open dashboard</span>
        </Button>
      )}
      {state === 'active' && mayWrite && (
        <ConfirmButton
          label={<span className="endpoint-action">Suspend …</span>}
          button={{ icon: Pause }}
          title={`Suspend ${slug}?`}
          action="Suspend"
          done={`${slug} is suspended.`}
          onConfirm={async () => {
            await takeStep(id, 'suspend');
            await queries.invalidateQueries({ queryKey: operatorKeys.all });
          }}
        >
          Every request gets a 403 and webhooks wait until you resume it.
        </ConfirmButton>
      )}
      {state === 'suspended' && mayWrite && (
        <Button icon={Play} onClick={() => step('resume')}>
          <span className="endpoint-action">Resume</span>
        </Button>
      )}
      <MoreMenu instance={instance} onOpen={open} />
    </>
  );
}

export function RestoreButton({ instance }: OnInstance) {
  const step = useStep(instance);
  return mayOperate('instances:write') && <Button onClick={() => step('restore')}>Restore</Button>;
}

/** Opens a drawer beside the screen. */
function useOpen({ id }: ManagedInstance): (name: string) => void {
  const navigate = useNavigate({ from: '/operator/instances/$instance' });
  return (name) =>
    void navigate({ params: { instance: id }, search: (before) => ({ ...before, open: name }) });
}

const stepTexts = { resume: 'resumed', restore: 'restored' } as const;

/** Does what needs no question. */
function useStep({ id, slug }: ManagedInstance): (step: keyof typeof stepTexts) => void {
  const queries = useQueryClient();
  const { attempt } = useToastedAttempt();
  return (step) =>
    attempt(async () => {
      try {
        await takeStep(id, step);
        showToast(`${slug} is ${stepTexts[step]}.`);
      } finally {
        await queries.invalidateQueries({ queryKey: operatorKeys.all });
      }
    });
}

function MoreMenu({ instance, onOpen }: OnInstance & { readonly onOpen: (drawer: string) => void }) {
  const [question, setQuestion] = useState<'delete' | 'archive'>();
  const mayWrite = mayOperate('instances:write');
  const mayIssue = mayOperate('keys:write') && instance.state === 'active';
  const close = (): void => setQuestion(undefined);
  // Those with the scope admin may do all of it.
  if (!mayWrite && !mayIssue) return null;
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" />}>
        {mayWrite && (
          <MenuItem icon={Pencil} onSelect={() => onOpen('edit')}>
            Edit …
          </MenuItem>
        )}
        {mayWrite && (
          <MenuItem icon={Copy} onSelect={() => onOpen('clone')}>
            Clone …
          </MenuItem>
        )}
        {mayIssue && (
          <MenuItem icon={KeyRound} onSelect={() => onOpen('key')}>
            Issue API key …
          </MenuItem>
        )}
        {mayOperate('admin') && (
          <MenuItem icon={Download} onSelect={() => setQuestion('archive')}>
            Download archive …
          </MenuItem>
        )}
        {mayWrite && <MenuLine />}
        {mayWrite && (
          <MenuItem icon={Trash2} tone="danger" onSelect={() => setQuestion('delete')}>
            Delete …
          </MenuItem>
        )}
      </Menu>
      {question === 'archive' && <ArchiveQuestion instance={instance} onClose={close} />}
      {question === 'delete' && <DeleteQuestion instance={instance} onClose={close} />}
    </>
  );
}

function DeleteQuestion({ instance: { id, slug }, onClose }: QuestionProps) {
  const queries = useQueryClient();
  return (
    <Confirm
      title={`Delete ${slug}?`}
      action="Delete the instance"
      typed={slug}
      onClose={onClose}
      onConfirm={async () => {
        const path = { instance: id };
        const deleted = await callOperator('DELETE /api/operator/instances/{instance}', { path });
        queries.setQueryData(instanceQuery(id).queryKey, deleted);
        showToast(`${slug} is deleted.`);
        // What else is shown of it is there for served instances only.
        const isOfOthers = ({ queryKey }: Query): boolean => !queryKey.includes(id);
        await queries.invalidateQueries({ queryKey: operatorKeys.all, predicate: isOfOthers });
      }}
    >
      It returns 404 at once. You can restore it for a few days; then its data and files are deleted.
    </Confirm>
  );
}

/** A cancel ends the download. */
function ArchiveQuestion({ instance: { id, slug }, onClose }: QuestionProps) {
  const controller = useRef<AbortController>(undefined);
  return (
    <Confirm
      title={`Download an archive of ${slug}?`}
      action="Download"
      tone="primary"
      onClose={() => {
        controller.current?.abort();
        onClose();
      }}
      onConfirm={async () => {
        controller.current = new AbortController();
        saveBlob(await readArchive(id, controller.current.signal), `${slug}.chancery`);
      }}
    >
      Everything in the instance at this moment. Its secrets are sealed with the master key.
    </Confirm>
  );
}
