import { Link } from '@tanstack/react-router';
import { useIsLocked } from './lock.tsx';

/** The views of one collection, at its head. */
export function CollectionTabs({ name }: { readonly name: string }) {
  const params = { collection: name };
  const isLocked = useIsLocked();
  return (
    <nav className="segments" aria-label="Views of the collection">
      <Link to="/c/$collection" params={params} activeOptions={{ exact: true, includeSearch: false }}>
        Records
      </Link>
      {!isLocked && (
        <Link to="/c/$collection/schema" params={params} activeOptions={{ includeSearch: false }}>
          Schema
        </Link>
      )}
      <Link to="/c/$collection/api" params={params} activeOptions={{ includeSearch: false }}>
        API
      </Link>
    </nav>
  );
}
