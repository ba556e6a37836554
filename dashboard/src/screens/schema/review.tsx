import { useQueries, useQuery } from '@tanstack/react-query';
import CircleAlert from 'lucide-react/icons/circle-alert';
import CircleDot from 'lucide-react/icons/circle-dot';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import type { Collection } from '../../api/client.ts';
import { countRecords, type DefinitionChange, engineQuery } from '../../api/definitions.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { plural } from '../../parts/time.tsx';
import { type Cost, type DefinitionStep, rulesLeftBehind, stepsBetween } from './definition-changes.ts';

interface ReviewProps {
  readonly change: DefinitionChange;
  readonly collections: readonly Collection[];
  readonly onSave: () => Promise<void>;
  readonly onClose: () => void;
}

const icons = { plain: CircleDot, warning: TriangleAlert, loss: CircleAlert };

/** What saving will do, before it does: how many records each step affects, what is rewritten, and what is lost. */
export function Review({ change, collections, onSave, onClose }: ReviewProps) {
  const { before, after } = change;
  const steps = stepsBetween(before, after);
  const affected = useAffected(before, steps);
  const left = rulesLeftBehind(before, after, collections);
  const losses = steps.filter((step, index) => isLoss(step, affected.counts[index]));
  const error = affected.error;
  return (
    <Confirm
      title={`${plural(steps.length, 'change')} of ${before.name}`}
      action={losses.length > 0 ? 'Save and lose this data' : 'Save'}
      tone={losses.length > 0 ? 'danger' : 'primary'}
      isReady={!affected.isCounting}
      {...(losses.length > 0 && { typed: before.name })}
      onConfirm={onSave}
      onClose={onClose}
      isWide
    >
      <ul className="review">
        {steps.map((step, index) => (
          <Step
            key={step.key}
            step={step}
            count={affected.counts[index]}
            total={affected.total}
            isLoss={losses.includes(step)}
            isCounting={affected.isCounting}
          />
        ))}
      </ul>
      {left.length > 0 && (
        <Notice tone="retrying">
          Rules of other collections still use these names. Update them yourself:
          {left.map((text) => (
            <div key={text} className="mono">
              {text}
            </div>
          ))}
        </Notice>
      )}
      {error !== null && <FailureNotice error={error} />}
    </Confirm>
  );
}

/** A drop of what cannot be counted counts as a loss wherever there are records. */
function isLoss({ tone }: DefinitionStep, count: number | undefined): boolean {
  return tone === 'loss' && count !== 0;
}

/** Counts the records of each step, and all. */
function useAffected(before: Collection, steps: readonly DefinitionStep[]) {
  const all = useQuery({
    queryKey: ['review', before.id, 'all'],
    queryFn: async () => countRecords(before.id, ''),
    gcTime: 0,
    staleTime: 0,
  });
  const counts = useQueries({
    queries: steps.map(({ affects, tone }) => ({
      queryKey: ['review', before.id, affects ?? tone],
      // What has no filter affects all records, where it affects any.
      queryFn: async () => countRecords(before.id, affects ?? ''),
      enabled: affects !== undefined || tone === 'loss',
      gcTime: 0,
      staleTime: 0,
    })),
  });
  return {
    total: all.data,
    counts: counts.map(({ data }) => data),
    isCounting: all.isFetching || counts.some(({ isFetching }) => isFetching),
    error: all.error ?? counts.find((count) => count.error !== null)?.error ?? null,
  };
}

interface StepProps {
  readonly step: DefinitionStep;
  readonly count: number | undefined;
  readonly total: number | undefined;
  readonly isLoss: boolean;
  readonly isCounting: boolean;
}

function Step({ step, count, total, isLoss, isCounting }: StepProps) {
  const { data: engine } = useQuery(engineQuery);
  const tone = step.tone === 'loss' && !isLoss && !isCounting ? 'plain' : step.tone;
  const Icon = icons[tone];
  const cost = costText(step.cost, { engine, total });
  return (
    <li className="review-step" data-tone={tone}>
      <Icon size={15} aria-hidden />
      <div>
        <p className="review-title">{step.title}</p>
        {step.effect !== undefined && (
          <p className={isLoss ? 'review-loss' : 'soft'}>
            {isCounting || count === undefined
              ? 'Counting the records …'
              : count === 0
                ? 'No record is affected.'
                : `${count.toLocaleString()} of ${plural(total ?? count, 'record')} ${step.effect}.`}
          </p>
        )}
        {step.detail !== undefined && <p className="soft">{step.detail}</p>}
        {cost !== '' && <p className="faint">{cost}</p>}
      </div>
    </li>
  );
}

function costText(
  cost: Cost,
  { engine, total }: { readonly engine: string | undefined; readonly total: number | undefined },
): string {
  const records = plural(total ?? 0, 'record');
  if (engine === undefined || total === undefined || total === 0) return '';
  if (cost === 'reads') return `Reads the table once: ${records}.`;
  if (cost === 'reshapes') return `Writes every record: ${records}. Other writes wait meanwhile.`;
  if (cost === 'drops' && engine === 'sqlite')
    return `Rewrites the table: ${records}. Other writes wait meanwhile.`;
  return '';
}
