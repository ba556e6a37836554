import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../../api/client.ts';
import { backUp, operatorKeys } from '../../api/operator.ts';
import { messageOf } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';

/** A proxy may close a request that takes minutes; the backup goes on, and its state says what became of it. */
const interruptions = [0, 502, 503, 504];

/** Makes backups of instances, one at a time. */
export function useBackUp() {
  const queries = useQueryClient();
  const [isRunning, setIsRunning] = useState(false);
  const start = async (id: string): Promise<void> => {
    setIsRunning(true);
    try {
      await backUp(id);
      showToast('The backup is stored.');
    } catch (error) {
      const isInterruption = error instanceof Failure && interruptions.includes(error.status);
      if (!isInterruption) showToast(messageOf(error), 'failed');
    }
    await queries.invalidateQueries({ queryKey: operatorKeys.backups });
    setIsRunning(false);
  };
  return { isRunning, start };
}
