import type { ComponentProps, ReactNode } from 'react';

interface FileInputProps extends Pick<
  ComponentProps<'input'>,
  'id' | 'ref' | 'accept' | 'multiple' | 'disabled' | 'tabIndex' | 'aria-label'
> {
  readonly onFiles: (files: readonly [File, ...File[]]) => void;
}

/** Reads files of this machine. It is not seen: the label around it, or a button that clicks it, stands for it. */
export function FileInput({ onFiles, ...input }: FileInputProps) {
  return (
    <input
      {...input}
      type="file"
      className="unseen"
      onChange={({ target }) => {
        const [first, ...others] = target.files ?? [];
        // The same file can be chosen again, after it was refused or taken away.
        target.value = '';
        if (first !== undefined) onFiles([first, ...others]);
      }}
    />
  );
}

interface FileLabelProps extends FileInputProps {
  readonly look: 'button' | 'link';
  readonly children: ReactNode;
}

/** What is pressed to choose a file. */
export function FileLabel({ look, children, ...input }: FileLabelProps) {
  return (
    <label className={`${look} settings-file`} data-tone={look === 'button' ? 'plain' : undefined}>
      {children}
      <FileInput {...input} />
    </label>
  );
}
