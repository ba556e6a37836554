import { useQueryClient } from '@tanstack/react-query';
import { Failure } from '../../api/client.ts';
import { backUp, operatorKeys } from '../../api/operator.ts';
import { useToastedAttempt } from '../../parts/attempt-form.tsx';
import { showToast } from '../../parts/toast.tsx';

/** A proxy may close a request that takes minutes; the backup goes on, and its state says what became of it. */
const interruptions = [0, 502, 503, 504];

/** Makes backups of instances, one at a time. */
export function useBackUp() {
  const queries = useQueryClient();
  const { isBusy, attempt } = useToastedAttempt();
  const start = (id: string): void =>
    attempt(async () => {
      try {
        await backUp(id);
        showToast('The backup is stored.');
      } catch (error) {
        if (!(error instanceof Failure && interruptions.includes(error.status))) throw error;
      } finally {
        await queries.invalidateQueries({ queryKey: operatorKeys.backups });
      }
    });
  return { isRunning: isBusy, start };
}
