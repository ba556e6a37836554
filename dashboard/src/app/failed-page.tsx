import type { ErrorComponentProps } from '@tanstack/react-router';
import Compass from 'lucide-react/icons/compass';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { Button } from '../parts/button.tsx';
import { Empty, NotFound } from '../parts/empty.tsx';
import { messageOf } from '../parts/notice.tsx';

/** A screen that could not be shown. What it was about is in the address still, so another attempt may do. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  return (
    <Empty
      icon={TriangleAlert}
      title="This page failed to load"
      actions={
        <>
          <Button onClick={reset}>Try again</Button>
          <Button onClick={() => location.reload()}>Reload page</Button>
        </>
      }
    >
      {messageOf(error)}
    </Empty>
  );
}

/** An address of nothing. */
export function LostPage() {
  return (
    <NotFound icon={Compass} title="Page not found" link={{ to: '/overview' }} action="Go to overview">
      Check the address, or go back to the overview.
    </NotFound>
  );
}
