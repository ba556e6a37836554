import { useQueryClient } from '@tanstack/react-query';
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
import { useState } from 'react';
import { type ManagedInstance, operatorKeys, takeStep } from '../../api/operator.ts';
import { mayOperate } from '../../api/operator-session.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Menu, MenuItem, MenuLine } from '../../parts/menu.tsx';
import { messageOf } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';
import { InstanceQuestion, type Question } from './instance-question.tsx';

interface OnInstance {
  readonly instance: ManagedInstance;
}

/** What can be done with an instance, as far as the key may. */
export function InstanceActions({ instance }: OnInstance) {
  const [question, setQuestion] = useState<Question>();
  const open = useOpen(instance);
  const step = useStep(instance);
  const { state } = instance;
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
        <Button icon={Pause} onClick={() => setQuestion('suspend')}>
          <span className="endpoint-action">Suspend …</span>
        </Button>
      )}
      {state === 'suspended' && mayWrite && (
        <Button icon={Play} onClick={() => void step('resume')}>
          <span className="endpoint-action">Resume</span>
        </Button>
      )}
      <MoreMenu state={state} onOpen={open} onAsk={setQuestion} />
      {question !== undefined && (
        <InstanceQuestion instance={instance} question={question} onClose={() => setQuestion(undefined)} />
      )}
    </>
  );
}

export function RestoreButton({ instance }: OnInstance) {
  const step = useStep(instance);
  return mayOperate('instances:write') && <Button onClick={() => void step('restore')}>Restore</Button>;
}

/** Opens a drawer beside the screen. */
function useOpen({ id }: ManagedInstance): (name: string) => void {
  const navigate = useNavigate({ from: '/operator/instances/$instance' });
  return (name) =>
    void navigate({ params: { instance: id }, search: (before) => ({ ...before, open: name }) });
}

const stepTexts = { resume: 'resumed', restore: 'restored' } as const;

/** Does what needs no question. Why it failed has no place of its own on the screen. */
function useStep({ id, slug }: ManagedInstance): (step: keyof typeof stepTexts) => Promise<void> {
  const queries = useQueryClient();
  return async (step) => {
    try {
      await takeStep(id, step);
      showToast(`${slug} is ${stepTexts[step]}.`);
    } catch (error) {
      showToast(messageOf(error), 'failed');
    }
    await queries.invalidateQueries({ queryKey: operatorKeys.all });
  };
}

interface MoreMenuProps {
  readonly state: ManagedInstance['state'];
  readonly onOpen: (drawer: string) => void;
  readonly onAsk: (question: Question) => void;
}

function MoreMenu({ state, onOpen, onAsk }: MoreMenuProps) {
  const mayWrite = mayOperate('instances:write');
  const mayIssue = mayOperate('keys:write') && state === 'active';
  // Those with the scope admin may do all of it.
  if (!mayWrite && !mayIssue) return null;
  return (
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
        <MenuItem icon={Download} onSelect={() => onAsk('archive')}>
          Download archive …
        </MenuItem>
      )}
      {mayWrite && <MenuLine />}
      {mayWrite && (
        <MenuItem icon={Trash2} tone="danger" onSelect={() => onAsk('delete')}>
          Delete …
        </MenuItem>
      )}
    </Menu>
  );
}
