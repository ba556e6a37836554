import type { ErrorComponentProps } from '@tanstack/react-router';
import { Link } from '@tanstack/react-router';
import Compass from 'lucide-react/icons/compass';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/empty.tsx';
import { messageOf } from '../parts/notice.tsx';

/** A screen that could not be shown. What it was about is in the address still, so another attempt may do. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  return (
    <Empty
      icon={<TriangleAlert size={24} strokeWidth={1.5} aria-hidden />}
      title="This screen could not be shown"
      actions={
        <>
          <Button onClick={reset}>Try again</Button>
          <Button onClick={() => location.reload()}>Load the page again</Button>
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
    <Empty
      icon={<Compass size={24} strokeWidth={1.5} aria-hidden />}
      title="Nothing is here"
      actions={
        <Link to="/overview" className="button">
          To the overview
        </Link>
      }
    >
      The address may be mistyped, or of a newer version than this one.
    </Empty>
  );
}
