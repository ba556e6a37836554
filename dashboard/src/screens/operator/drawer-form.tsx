import type { ReactNode } from 'react';
import { Failure } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice } from '../../parts/notice.tsx';

interface DrawerFormProps {
  readonly error: unknown;
  readonly isBusy: boolean;
  readonly action: string;
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}

/** The form of a drawer: errors of members stand beside these, others above the button. */
export function DrawerForm({ error, isBusy, action, onSubmit, children }: DrawerFormProps) {
  return (
    <form
      className="drawer-body endpoint-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <div className="drawer-form">
        {children}
        {error !== undefined && fieldsOf(error).size === 0 && <FailureNotice error={error} />}
      </div>
      <div className="drawer-foot">
        <span className="drawer-foot-note" />
        <Button type="submit" tone="primary" disabled={isBusy}>
          {action}
        </Button>
      </div>
    </form>
  );
}

const none: ReadonlyMap<string, string> = new Map();

/** What the service says of members of a request, by their paths. */
export function fieldsOf(error: unknown): ReadonlyMap<string, string> {
  return error instanceof Failure ? error.fields : none;
}
