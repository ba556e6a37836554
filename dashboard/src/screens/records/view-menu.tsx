import Bookmark from 'lucide-react/icons/bookmark';
import { lazy, Suspense } from 'react';
import { Button } from '../../parts/button.tsx';
import { Popover } from '../../parts/popover.tsx';
import type { ShownRecords } from './column-layout.ts';

const ViewList = lazy(async () => ({ default: (await import('./view-list.tsx')).ViewList }));

/** The button that opens the saved views of a table. */
export function ViewMenu(props: ShownRecords) {
  return (
    <Popover
      label="Saved views"
      align="end"
      className="views"
      trigger={<Button icon={Bookmark} tone="quiet" aria-label="Saved views" />}
    >
      {(close) => (
        <Suspense fallback={<span className="placeholder" style={{ blockSize: 80 }} />}>
          <ViewList {...props} onClose={close} />
        </Suspense>
      )}
    </Popover>
  );
}
