import { useQuery } from '@tanstack/react-query';
import Paperclip from 'lucide-react/icons/paperclip';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import Upload from 'lucide-react/icons/upload';
import X from 'lucide-react/icons/x';
import { useEffect, useMemo, useState } from 'react';
import type { RecordModel } from '../../../api/client.ts';
import type { FieldOf } from '../../../api/collections.ts';
import { fileTokenQuery, fileUrl, isImage } from '../../../api/files.ts';
import { byteSize } from '../../../parts/byte-size.ts';
import { IconButton } from '../../../parts/button.tsx';
import { FileChange } from '../record-draft.ts';

interface FileEditorProps {
  readonly id: string;
  readonly field: FieldOf<'file'>;
  readonly record: RecordModel | undefined;
  readonly value: unknown;
  readonly onChange: (value: FileChange | undefined) => void;
}

/** The files of a field: those that are there, which can be taken away, and those to be added, by choice, drop or paste. */
export function FileEditor({ id, field, record, value, onChange }: FileEditorProps) {
  const files = useFiles({ field, record, value, onChange });
  const { token, change, names, isSingle, add } = files;
  return (
    <div className="file-list" onPaste={(event) => add(event.clipboardData.files)}>
      {names.length + change.added.length > 0 && (
        <div className="files" role="list">
          {names.map((name) => (
            <StoredFile
              key={name}
              name={name}
              url={record === undefined ? '' : fileUrl(record, name, { token })}
              thumb={
                record !== undefined && isImage(name) && (!field.protected || token !== undefined)
                  ? fileUrl(record, name, { thumb: '100x100', token })
                  : undefined
              }
              isGone={change.removed.includes(name) || (isSingle && change.added.length > 0)}
              onToggle={() => files.toggle(name)}
              canMove={names.length > 1}
              onDrop={(moved) => names.includes(moved) && files.move(moved, name)}
              onStep={(step) => files.move(name, names[names.indexOf(name) + step])}
            />
          ))}
          {change.added.map((file) => (
            <AddedFile
              key={`${file.name}-${file.lastModified}`}
              file={file}
              onRemove={() => files.takeBack(file)}
            />
          ))}
        </div>
      )}
      <DropArea id={id} field={field} onFiles={add} />
    </div>
  );
}

/** The change of a field of files, and what changes it further. */
function useFiles({ field, record, value, onChange }: Omit<FileEditorProps, 'id'>) {
  const { data: token } = useQuery({ ...fileTokenQuery, enabled: field.protected && record !== undefined });
  const change = value instanceof FileChange ? value : new FileChange([], []);
  const stored = [record?.[field.name] ?? []]
    .flat()
    .filter((name) => name !== '')
    .map(String);
  const names = change.order ?? stored;
  const isSingle = field.maxSelect <= 1;
  const set = (next: FileChange): void => onChange(next.isEmpty ? undefined : next);
  const add = (files: FileList | null): void => {
    const added = [...(files ?? [])];
    if (added.length > 0)
      set(
        new FileChange(
          change.removed,
          isSingle ? added.slice(0, 1) : [...change.added, ...added],
          change.order,
        ),
      );
  };
  const toggle = (name: string): void => {
    const removed = change.removed.includes(name)
      ? change.removed.filter((one) => one !== name)
      : [...change.removed, name];
    set(new FileChange(removed, change.added, change.order));
  };
  const move = (name: string, to: string | undefined): void => {
    if (to === undefined || to === name) return;
    const order = names.filter((one) => one !== name);
    order.splice(names.indexOf(to), 0, name);
    const isSame = order.every((one, index) => one === stored[index]);
    set(new FileChange(change.removed, change.added, isSame ? undefined : order));
  };
  const takeBack = (file: File): void =>
    set(
      new FileChange(
        change.removed,
        change.added.filter((one) => one !== file),
        change.order,
      ),
    );
  return { token, change, names, isSingle, add, toggle, move, takeBack };
}

interface DropAreaProps {
  readonly id: string;
  readonly field: FieldOf<'file'>;
  readonly onFiles: (files: FileList | null) => void;
}

function DropArea({ id, field, onFiles }: DropAreaProps) {
  const [isOver, setIsOver] = useState(false);
  const isSingle = field.maxSelect <= 1;
  return (
    <label
      className="drop"
      data-over={isOver ? '' : undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        onFiles(event.dataTransfer.files);
      }}
    >
      <Upload size={14} aria-hidden />
      {isSingle ? 'Drop a file here, or choose one' : 'Drop files here, or choose some'}
      <input
        id={id}
        type="file"
        className="unseen"
        multiple={!isSingle}
        accept={field.mimeTypes.join(',')}
        aria-label={`Files for ${field.name}`}
        onChange={(event) => {
          onFiles(event.target.files);
          // The same file can be chosen again after it was taken away.
          event.target.value = '';
        }}
      />
    </label>
  );
}

interface StoredFileProps {
  readonly name: string;
  readonly url: string;
  readonly thumb: string | undefined;
  readonly isGone: boolean;
  readonly onToggle: () => void;
  readonly canMove: boolean;
  /** Another file was dropped on this one. */
  readonly onDrop: (name: string) => void;
  readonly onStep: (step: 1 | -1) => void;
}

const dragType = 'application/x-file-name';

/** A file that is there. It is moved by dragging it, or with alt and an arrow. */
function StoredFile(props: StoredFileProps) {
  const { name, url, thumb, isGone, onToggle, canMove, onDrop, onStep } = props;
  const Icon = isGone ? RotateCcw : X;
  return (
    <div
      className="file"
      role="listitem"
      data-gone={isGone ? '' : undefined}
      draggable={canMove}
      onDragStart={(event) => event.dataTransfer.setData(dragType, name)}
      onDragOver={(event) => {
        if (canMove && event.dataTransfer.types.includes(dragType)) event.preventDefault();
      }}
      onDrop={(event) => {
        const moved = event.dataTransfer.getData(dragType);
        if (moved === '') return;
        event.preventDefault();
        onDrop(moved);
      }}
      onKeyDown={(event) => {
        const step = { ArrowUp: -1 as const, ArrowDown: 1 as const }[event.key];
        if (!canMove || !event.altKey || step === undefined) return;
        event.preventDefault();
        onStep(step);
      }}
    >
      {thumb === undefined ? (
        <Paperclip size={15} aria-hidden />
      ) : (
        <img className="thumb" src={thumb} alt="" />
      )}
      <a className="cut" href={url} target="_blank" rel="noreferrer" title={name}>
        {name}
      </a>
      <IconButton small label={isGone ? `Keep ${name}` : `Remove ${name}`} onClick={onToggle}>
        <Icon size={14} aria-hidden />
      </IconButton>
    </div>
  );
}

function AddedFile({ file, onRemove }: { readonly file: File; readonly onRemove: () => void }) {
  const preview = usePreview(file);
  return (
    <div className="file" role="listitem">
      {preview === undefined ? (
        <Paperclip size={15} aria-hidden />
      ) : (
        <img className="thumb" src={preview} alt="" />
      )}
      <span className="cut">{file.name}</span>
      <span className="faint">{byteSize(file.size)}, new</span>
      <IconButton small label={`Remove ${file.name}`} onClick={onRemove}>
        <X size={14} aria-hidden />
      </IconButton>
    </div>
  );
}

function usePreview(file: File): string | undefined {
  const url = useMemo(() => (isImage(file.name) ? URL.createObjectURL(file) : undefined), [file]);
  useEffect(
    () => () => {
      if (url !== undefined) URL.revokeObjectURL(url);
    },
    [url],
  );
  return url;
}
