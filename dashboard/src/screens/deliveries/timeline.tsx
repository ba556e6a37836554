import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleCheck from 'lucide-react/icons/circle-check';
import Clock from 'lucide-react/icons/clock';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { actorName, type AuditEntry } from '../../api/audit.ts';
import type { Attempt, Delivery } from '../../api/events.ts';
import { Button } from '../../parts/button.tsx';
import { Countdown } from '../../parts/countdown.tsx';
import { attemptWords } from '../../parts/delivery-words.ts';
import { duration, parseTime, Time } from '../../parts/time.tsx';
import { Waterfall } from './waterfall.tsx';

interface TimelineProps {
  readonly delivery: Delivery;
  /** When it goes on by itself; empty when it does not. */
  readonly next: string;
  /** Who has sent it again by hand, the latest first. */
  readonly retries: readonly AuditEntry[];
  /** The number of the attempt that is looked at. */
  readonly selected: number | undefined;
  readonly onSelect: (number: number) => void;
}

const shownFirst = 25;

/** Every attempt, the last one first: there may be hundreds, and people come for how it stands. */
export function Timeline({ delivery, next, retries, selected, onSelect }: TimelineProps) {
  const { attempts, status } = delivery;
  const [isWhole, setIsWhole] = useState(false);
  const ordered = attempts.toReversed();
  const shown = isWhole ? ordered : ordered.slice(0, shownFirst);
  return (
    <>
      <ol className="timeline" aria-label="Attempts, the last one first" reversed>
        {status === 'pending' && (
          <li className="attempt" data-tone="waiting">
            <Clock className="attempt-dot" size={16} aria-hidden />
            <div className="attempt-next">{next === '' ? <Waits /> : <NextTry next={next} />}</div>
          </li>
        )}
        {shown.map((attempt) => (
          <AttemptItem
            key={attempt.number}
            attempt={attempt}
            before={attempts.find(({ number }) => number === attempt.number - 1)}
            retries={retries}
            isSelected={attempt.number === selected}
            onSelect={() => onSelect(attempt.number)}
          />
        ))}
        {attempts.length === 0 && status !== 'pending' && (
          <li className="attempt soft" data-tone="waiting">
            <Clock className="attempt-dot" size={16} aria-hidden />
            <div className="attempt-next">Never attempted.</div>
          </li>
        )}
      </ol>
      {shown.length < ordered.length && (
        <Button onClick={() => setIsWhole(true)}>Show all {ordered.length} attempts</Button>
      )}
    </>
  );
}

function NextTry({ next }: { readonly next: string }) {
  return (
    <>
      <strong>Next try</strong> <Countdown until={next} />
      <span className="soft">
        {' · '}
        <Time value={next} />
      </span>
    </>
  );
}

function Waits() {
  return (
    <>
      <strong>Waiting</strong> <span className="soft">for what stands above</span>
    </>
  );
}

interface AttemptItemProps {
  readonly attempt: Attempt;
  readonly before: Attempt | undefined;
  readonly retries: readonly AuditEntry[];
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function AttemptItem({ attempt, before, retries, isSelected, onSelect }: AttemptItemProps) {
  const { number, started, kind, status, cause } = attempt;
  const isSuccess = kind === 'success';
  const Icon = isSuccess ? CircleCheck : CircleAlert;
  return (
    <li className="attempt" data-tone={isSuccess ? 'ok' : 'failed'}>
      <Icon className="attempt-dot" size={16} aria-hidden />
      <div className="attempt-body" data-selected={isSelected ? '' : undefined}>
        <div className="attempt-head">
          <button type="button" className="attempt-button" aria-pressed={isSelected} onClick={onSelect}>
            <strong className="attempt-status">{status ?? attemptWords[kind]}</strong>{' '}
            <span className="soft">attempt {number}</span>
          </button>
          <span className="attempt-time">
            <Time value={started} />
          </span>
        </div>
        {cause !== '' && <p className="attempt-cause">{cause}</p>}
        {before !== undefined && (
          <p className="attempt-gap">
            {gapOf(before, attempt)}
            <AskedBy retry={retryBehind(attempt, before, retries)} />
          </p>
        )}
        <Waterfall attempt={attempt} />
      </div>
    </li>
  );
}

/** Who has asked for an attempt that the schedule would not have made then. */
function AskedBy({ retry }: { readonly retry: AuditEntry | undefined }) {
  if (retry === undefined) return null;
  return (
    <>
      {', asked for by '}
      <Link
        className="attempt-hand link"
        to="/settings/$section"
        params={{ section: 'audit' }}
        search={{ filter: `id = '${retry.id}'`, entry: retry.id }}
      >
        {actorName(retry)}
      </Link>
    </>
  );
}

/** The last retry by hand between an attempt and the one before it. */
function retryBehind(
  attempt: Attempt,
  before: Attempt,
  retries: readonly AuditEntry[],
): AuditEntry | undefined {
  return retries.find(({ created }) => created >= before.started && created <= attempt.started);
}

function gapOf(before: Attempt, attempt: Attempt): string {
  const [from, to] = [parseTime(before.started), parseTime(attempt.started)];
  if (from === undefined || to === undefined) return '';
  const seconds = Math.max(0, (to.getTime() - from.getTime()) / 1_000);
  return seconds < 1
    ? 'less than a second after the one before'
    : `${duration(seconds)} after the one before`;
}
