import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { useAttempt } from './attempt-form.tsx';
import { Button, type ButtonProps } from './button.tsx';
import { InputField } from './labelled-field.tsx';
import { FailureNotice } from './notice.tsx';
import { showToast } from './toast.tsx';

interface ConfirmProps {
  readonly title: string;
  readonly children: ReactNode;
  /** What the button says that does it. */
  readonly action: string;
  /** The text to type first, where nothing brings back what is lost. */
  readonly typed?: string;
  /** `danger` unless what it does can be taken back or does no harm. */
  readonly tone?: 'danger' | 'primary';
  /** False as long as something has to be known first. */
  readonly isReady?: boolean;
  readonly isWide?: boolean;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before something that cannot be undone. A dialog of the browser: it keeps the focus, and Esc closes it. */
export function Confirm(props: ConfirmProps) {
  const { title, children, action, typed, tone = 'danger', isReady = true, isWide, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState('');
  const { error, isBusy, attempt } = useAttempt();
  useEffect(() => {
    dialog.current?.showModal();
    // What does no harm is a press of Enter away; of what does, the dialog gives the focus to its first button, which is to leave.
    if (tone === 'primary') dialog.current?.querySelector<HTMLElement>('[type=submit]')?.focus();
  }, [tone]);
  return (
    <dialog
      className="dialog"
      ref={dialog}
      aria-labelledby={id}
      data-wide={isWide === true ? '' : undefined}
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          attempt(async () => {
            await props.onConfirm();
            onClose();
          });
        }}
      >
        <h2 id={id}>{title}</h2>
        <div className="dialog-body">
          <div>{children}</div>
          {typed !== undefined && (
            <InputField label={`Type ${typed} to confirm`} value={text} onText={setText} />
          )}
          {error !== undefined && <FailureNotice error={error} />}
        </div>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            tone={tone}
            disabled={isBusy || !isReady || (typed !== undefined && text !== typed)}
          >
            {action}
          </Button>
        </div>
      </form>
    </dialog>
  );
}

interface ConfirmButtonProps extends Omit<ConfirmProps, 'onClose'> {
  readonly label: ReactNode;
  readonly button?: Pick<ButtonProps, 'icon' | 'tone' | 'disabled' | 'title' | 'aria-label'>;
  /** What a toast says when it is done. */
  readonly done?: string;
}

/** A button that asks first. */
export function ConfirmButton({ label, button, done, onConfirm, ...props }: ConfirmButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  const confirm = async (): Promise<void> => {
    await onConfirm();
    if (done !== undefined) showToast(done);
  };
  return (
    <>
      <Button {...button} onClick={() => setIsOpen(true)}>
        {label}
      </Button>
      {isOpen && <Confirm {...props} onConfirm={confirm} onClose={() => setIsOpen(false)} />}
    </>
  );
}
