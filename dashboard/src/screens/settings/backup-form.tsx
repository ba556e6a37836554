import { useQueryClient } from '@tanstack/react-query';
import Archive from 'lucide-react/icons/archive';
import Upload from 'lucide-react/icons/upload';
import { useState, type FormEvent } from 'react';
import { backupsKey, uploadBackup } from '../../api/backups.ts';
import { useAttempt } from '../../parts/attempt-form.tsx';
import { byteSize } from '../../parts/byte-size.ts';
import { Button } from '../../parts/button.tsx';
import { FileLabel } from '../../parts/file-input.tsx';
import { InputField } from '../../parts/labelled-field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';
import { BackupFailure } from './backup-failure.tsx';
import type { BackupJobs } from './use-backup-jobs.ts';

/** Makes a backup, or uploads one. */
export function BackupForm({ jobs }: { readonly jobs: BackupJobs }) {
  const [name, setName] = useState('');
  const problem = nameProblem(name);
  const upload = useUpload();
  const isBusy = jobs.running !== undefined || upload.file !== undefined;
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (isBusy || problem !== undefined) return;
    if (await jobs.start({ kind: 'backup', backup: toBackupName(name) })) setName('');
  };
  return (
    <form className="backup-form" noValidate onSubmit={(event) => void submit(event)}>
      <InputField
        label="Name of a new backup"
        aside="optional"
        help="Leave empty to name it by the time."
        error={problem}
        value={name}
        placeholder="before-the-import"
        onText={setName}
      />
      <div className="settings-actions">
        <Button icon={Archive} type="submit" tone="primary" disabled={isBusy || problem !== undefined}>
          Back up now
        </Button>
        <FileLabel
          look="button"
          accept=".zip,.chancery,application/zip"
          disabled={isBusy}
          onFiles={([file]) => upload.send(file)}
        >
          <Upload size={15} aria-hidden />
          Upload a backup
        </FileLabel>
      </div>
      {upload.file !== undefined && (
        <Notice>
          <div role="status">
            Uploading {upload.file.name}, {byteSize(upload.file.size)} …
          </div>
        </Notice>
      )}
      {upload.error !== undefined && <BackupFailure error={upload.error} />}
    </form>
  );
}

function useUpload() {
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<File>();
  const { error, isBusy, attempt } = useAttempt();
  const send = (file: File): void => {
    setChosen(file);
    attempt(async () => {
      showToast(`${await uploadBackup(file)} is uploaded.`);
      await queries.invalidateQueries({ queryKey: backupsKey });
    });
  };
  return { file: isBusy ? chosen : undefined, error, send };
}

const stemMax = 146;

function nameProblem(name: string): string | undefined {
  const stem = stemOf(name);
  if (!/^[a-z0-9_-]*$/.test(stem)) return 'Use lowercase letters, digits, - and _ only.';
  return stem.length > stemMax ? `At most ${stemMax} characters.` : undefined;
}

function toBackupName(name: string): string {
  return name.trim() === '' ? '' : `${stemOf(name)}.zip`;
}

function stemOf(name: string): string {
  return name.trim().replace(/\.zip$/, '');
}
