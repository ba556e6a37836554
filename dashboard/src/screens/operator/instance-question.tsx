import { type Query, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import {
  deleteInstance,
  instanceQuery,
  type ManagedInstance,
  operatorKeys,
  takeStep,
} from '../../api/operator.ts';
import { readArchive } from '../../api/operator-session.ts';
import { saveBlob } from '../../browser/save-blob.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { showToast } from '../../parts/toast.tsx';

export type Question = 'suspend' | 'delete' | 'archive';

interface InstanceQuestionProps {
  readonly instance: ManagedInstance;
  readonly question: Question;
  readonly onClose: () => void;
}

/** Asks before something is done with an instance that others feel, or that takes a while. */
export function InstanceQuestion({ instance, question, onClose }: InstanceQuestionProps) {
  const queries = useQueryClient();
  const { id, slug } = instance;
  if (question === 'archive') return <ArchiveQuestion instance={instance} onClose={onClose} />;
  if (question === 'suspend')
    return (
      <Confirm
        title={`Suspend ${slug}?`}
        action="Suspend"
        onClose={onClose}
        onConfirm={async () => {
          await takeStep(id, 'suspend');
          showToast(`${slug} is suspended.`);
          await queries.invalidateQueries({ queryKey: operatorKeys.all });
        }}
      >
        Every request gets a 403 and webhooks wait until you resume it.
      </Confirm>
    );
  return (
    <Confirm
      title={`Delete ${slug}?`}
      action="Delete the instance"
      typed={slug}
      onClose={onClose}
      onConfirm={async () => {
        queries.setQueryData(instanceQuery(id).queryKey, await deleteInstance(id));
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
function ArchiveQuestion({ instance: { id, slug }, onClose }: Omit<InstanceQuestionProps, 'question'>) {
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
