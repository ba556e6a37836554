import type { LucideIcon } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { Button, IconButton } from '../button.tsx';
import { Confirm } from '../confirm.tsx';
import { showToast } from '../toast.tsx';

interface RowActionProps<Row> {
  /** `Revoke`, and what it has done then: `revoked`. */
  readonly verb: string;
  readonly done: string;
  readonly icon: LucideIcon;
  /** Those that it applies to. */
  readonly rows: readonly Row[];
  /** Their names, or how many there are: `2 API keys`. */
  readonly what: string;
  /** True where nothing brings back what is lost: `what` has to be typed. */
  readonly isFinal?: boolean;
  readonly isDisabled?: boolean;
  /** A button of a row rather than of the selection. */
  readonly isSmall?: boolean;
  readonly work: (row: Row) => Promise<unknown>;
  /** Reads the list again, also when only some of the work was done. */
  readonly refresh: () => Promise<unknown>;
  readonly onDone?: (() => void) | undefined;
  /** What follows from it. */
  readonly children: ReactNode;
}

/** Does something with rows of a list, one after the other, after asking. */
export function RowAction<Row>(props: RowActionProps<Row>) {
  const { verb, done, icon: Icon, rows, what, isFinal = false, isSmall = false, children } = props;
  const [isOpen, setIsOpen] = useState(false);
  const isDisabled = rows.length === 0 || props.isDisabled === true;
  const open = (): void => setIsOpen(true);
  const confirm = async (): Promise<void> => {
    try {
      for (const row of rows) await props.work(row);
    } finally {
      await props.refresh();
    }
    showToast(`${what} ${done}.`);
    props.onDone?.();
  };
  return (
    <>
      {isSmall ? (
        <IconButton icon={Icon} small label={`${verb} ${what}`} disabled={isDisabled} onClick={open} />
      ) : (
        <Button icon={Icon} disabled={isDisabled} onClick={open}>
          {verb} …
        </Button>
      )}
      {isOpen && (
        <Confirm
          title={`${verb} ${what}?`}
          action={`${verb} ${what}`}
          tone={isFinal ? 'danger' : 'primary'}
          {...(isFinal && { typed: what })}
          onClose={() => setIsOpen(false)}
          onConfirm={confirm}
        >
          {children}
        </Confirm>
      )}
    </>
  );
}
