import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import ChevronRight from 'lucide-react/icons/chevron-right';
import { useEffect, useEffectEvent, useState, type ReactNode } from 'react';
import type { AuditEntry, auditQuery } from '../api/audit.ts';
import { Failure } from '../api/client.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { JsonView } from './json-view.tsx';
import { errorAttributes, LabelledField } from './labelled-field.tsx';
import { FailureNotice } from './notice.tsx';
import { Time } from './time.tsx';

/** What the address holds of it. */
interface AuditSearch {
  readonly filter?: string;
  /** The id of the entry that is open. */
  readonly entry?: string;
}

interface AuditLogProps {
  readonly queryOf: (filter: string) => ReturnType<typeof auditQuery>;
  readonly search: AuditSearch;
  readonly onSearch: (search: AuditSearch) => void;
  /** Whether the requests of its entries are in the log of the instance. */
  readonly hasRequests: boolean;
  /** What shows where nothing is. */
  readonly children: (isFiltered: boolean) => ReactNode;
}

/** Who did what, and from where. Nothing in it can be changed. */
export function AuditLog({ queryOf, search, onSearch, hasRequests, children }: AuditLogProps) {
  const { filter = '', entry } = search;
  const list = useInfiniteQuery({ ...queryOf(filter), placeholderData: keepPreviousData });
  const refusal = list.error instanceof Failure && list.error.status === 400 ? list.error : undefined;
  const entries = list.data?.pages.flat() ?? [];
  return (
    <>
      <AuditFilter
        filter={filter}
        error={refusal?.message}
        onFilter={(next) => onSearch(next === '' ? {} : { filter: next })}
      />
      {list.isError && refusal === undefined && (
        <FailureNotice error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isSuccess && entries.length === 0 && children(filter !== '')}
      {entries.length > 0 && refusal === undefined && (
        <ul className="panel settings-list" aria-label="Audit log">
          {entries.map((one) => (
            <AuditRow
              key={one.id}
              entry={one}
              isOpen={one.id === entry}
              hasRequests={hasRequests}
              onToggle={() =>
                onSearch({ ...(filter !== '' && { filter }), ...(one.id !== entry && { entry: one.id }) })
              }
            />
          ))}
        </ul>
      )}
      {list.hasNextPage && (
        <div>
          <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show older entries
          </Button>
        </div>
      )}
    </>
  );
}

interface AuditFilterProps {
  readonly filter: string;
  readonly error: string | undefined;
  readonly onFilter: (filter: string) => void;
}

function AuditFilter({ filter, error, onFilter }: AuditFilterProps) {
  const [text, setText] = useState(filter);
  useFollow(filter, setText);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onFilter(text.trim());
      }}
    >
      <LabelledField id="audit-filter" label="Filter" aside="Enter" error={error}>
        <input
          id="audit-filter"
          className="input mono"
          data-filter
          value={text}
          spellCheck={false}
          autoComplete="off"
          placeholder="action = 'sign-in' && outcome = 'refused'"
          onChange={(event) => {
            setText(event.target.value);
            if (event.target.value === '') onFilter('');
          }}
          {...errorAttributes('audit-filter', error)}
        />
      </LabelledField>
    </form>
  );
}

/** Shows the filter of the address when that changes: by Back, or by a link. */
function useFollow(filter: string, setText: (text: string) => void): void {
  const follow = useEffectEvent((next: string) => setText(next));
  useEffect(() => follow(filter), [filter]);
}

interface AuditRowProps {
  readonly entry: AuditEntry;
  readonly isOpen: boolean;
  readonly hasRequests: boolean;
  readonly onToggle: () => void;
}

function AuditRow({ entry, isOpen, hasRequests, onToggle }: AuditRowProps) {
  const { id, action, outcome, actor, actorId, address, count, created, requestId } = entry;
  return (
    <li className="audit-item">
      <button type="button" className="settings-row audit-row" aria-expanded={isOpen} onClick={onToggle}>
        <ChevronRight size={13} aria-hidden />
        <span className="settings-row-main">
          <span className="settings-row-title cut">
            {action}
            {outcome === 'refused' && (
              <span className="badge" data-tone="retrying">
                refused
              </span>
            )}
            {count > 1 && <span className="chip">{count} times</span>}
          </span>
          <span className="soft cut">
            {[actor, actorId, address].filter((text) => text !== '').join(' · ')}
          </span>
        </span>
        <span className="soft">
          <Time value={created} />
        </span>
      </button>
      {isOpen && (
        <div className="audit-details">
          <JsonView value={entry} />
          <div className="settings-actions">
            <CopyButton text={JSON.stringify(entry, null, 2)} label="Copy the JSON" />
            <CopyButton text={id} label="Copy the id" />
            {hasRequests && requestId !== '' && (
              <Link
                to="/logs"
                search={{ filter: `data.requestId = "${requestId}"`, dashboard: 'yes' }}
                className="link"
              >
                Its request
              </Link>
            )}
          </div>
        </div>
      )}
    </li>
  );
}
