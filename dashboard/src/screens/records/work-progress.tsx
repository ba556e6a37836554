import { plural } from '../../parts/time.tsx';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import type { Problem } from './bulk-work.ts';

/** How far some work is, and its end at will. */
export function WorkProgress({
  done,
  total,
  verb,
  onCancel,
}: {
  readonly done: number;
  readonly total: number | undefined;
  readonly verb: string;
  readonly onCancel: () => void;
}) {
  return (
    <span className="work" role="status">
      <progress
        aria-label={verb}
        value={total === undefined ? undefined : done}
        max={Math.max(total ?? 1, 1)}
      />
      <span>
        {verb} {done.toLocaleString()}
        {total !== undefined && ` of ${total.toLocaleString()}`}
      </span>
      <Button tone="quiet" onClick={onCancel}>
        Stop
      </Button>
    </span>
  );
}

const shownMax = 100;

/** What was left as it was, and why, by record or by line. */
export function Problems({
  problems,
  error,
}: {
  readonly problems: readonly Problem[];
  readonly error?: unknown;
}) {
  return (
    <>
      {error !== undefined && <FailureNotice error={error} />}
      {problems.length > 0 && (
        <Notice tone="failed">
          {plural(problems.length, 'record')} not saved:
          <ul className="problems">
            {problems.slice(0, shownMax).map(({ subject, message }) => (
              <li key={subject}>
                <span className="mono">{subject}</span> {message}
              </li>
            ))}
          </ul>
          {problems.length > shownMax && `and ${(problems.length - shownMax).toLocaleString()} more.`}
        </Notice>
      )}
    </>
  );
}
