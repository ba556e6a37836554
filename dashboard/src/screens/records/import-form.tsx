import FileUp from 'lucide-react/icons/file-up';
import { useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Combobox } from '../../parts/combobox.tsx';
import { Notice } from '../../parts/notice.tsx';
import { plural } from '../../parts/time.tsx';
import { doSteps, type Step } from './bulk-work.ts';
import { parseCsv } from './csv.ts';
import { FileDrop } from './file-drop.tsx';
import { type CsvFile, guessMapping, importedFields, type Mapping, toSteps } from './import-mapping.ts';
import { useWork } from './use-work.ts';
import { Problems, WorkProgress } from './work-progress.tsx';

interface ImportFormProps {
  readonly collection: Collection;
  readonly onClose: () => void;
}

/** A file of CSV: which column goes into which field, a look at the first lines, and what became of each line. */
export function ImportForm({ collection, onClose }: ImportFormProps) {
  const { file, mapping, setMapping, work, open, run, isMapped, result } = useImport(collection);
  return (
    <div className="transfer-body">
      <FileDrop
        label="CSV file"
        text={file === undefined ? 'Choose a CSV file with a header row' : file.name}
        icon={FileUp}
        accept=".csv,.tsv,text/csv"
        disabled={work.isBusy}
        onFiles={([chosen]) => void open(chosen)}
      />
      {file !== undefined && file.lines.length === 0 && (
        <Notice tone="failed">The file has no rows below the header.</Notice>
      )}
      {file !== undefined && result === undefined && (
        <MappingTable collection={collection} file={file} mapping={mapping} onMapping={setMapping} />
      )}
      {result !== undefined && (
        <>
          <Notice tone={result.failed.length === 0 && result.error === undefined ? 'ok' : 'plain'}>
            {plural(result.done, 'record')} imported.
          </Notice>
          <Problems problems={result.failed} error={result.error} />
        </>
      )}
      {work.isBusy ? (
        <WorkProgress
          done={work.state?.done ?? 0}
          total={file?.lines.length}
          verb="Importing"
          onCancel={work.cancel}
        />
      ) : (
        <div className="dialog-actions">
          <Button onClick={onClose}>{result === undefined ? 'Cancel' : 'Close'}</Button>
          {result === undefined && (
            <Button
              tone="primary"
              disabled={!isMapped || file?.lines.length === 0}
              onClick={() => void run()}
            >
              Import {plural(file?.lines.length ?? 0, 'record')}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

/** A file, its mapping, and its way into the collection. */
function useImport(collection: Collection) {
  const [file, setFile] = useState<CsvFile>();
  const [mapping, setMapping] = useState<Mapping>([]);
  const work = useWork(collection.name);
  const open = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return;
    const [head = [], ...lines] = parseCsv(await chosen.text());
    setFile({ name: chosen.name, head, lines });
    setMapping(guessMapping(head, collection));
    work.clear();
  };
  const run = async (): Promise<void> => {
    if (file === undefined) return;
    const steps = toSteps(file, mapping, collection);
    await work.start({
      verb: 'Importing',
      changesRows: true,
      run: async (signal, onProgress) => {
        await doSteps(once(steps), { collection: collection.name, signal, onProgress });
      },
    });
  };
  const isMapped = mapping.some((name) => name !== '');
  const result = work.isBusy ? undefined : work.state;
  return { file, mapping, setMapping, work, open, run, isMapped, result };
}

async function* once(steps: readonly Step[]): AsyncGenerator<readonly Step[]> {
  yield await Promise.resolve(steps);
}

const previewMax = 3;

interface MappingTableProps {
  readonly collection: Collection;
  readonly file: CsvFile;
  readonly mapping: Mapping;
  readonly onMapping: (mapping: Mapping) => void;
}

function MappingTable({ collection, file, mapping, onMapping }: MappingTableProps) {
  const fields = importedFields(collection);
  return (
    <div className="mapping" tabIndex={0} role="region" aria-label="Columns and their fields">
      <table>
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">Field</th>
            <th scope="col">First values</th>
          </tr>
        </thead>
        <tbody>
          {file.head.map((title, position) => (
            <tr key={position}>
              <th scope="row">{title}</th>
              <td>
                <Combobox
                  label={`Field for ${title}`}
                  none="Leave out"
                  value={mapping[position] ?? ''}
                  choices={fields
                    .filter(({ name }) => !mapping.includes(name) || mapping[position] === name)
                    .map(({ name }) => ({ value: name, label: name }))}
                  onChange={(name) => onMapping(mapping.with(position, name))}
                />
              </td>
              <td className="cut soft">
                {file.lines
                  .slice(0, previewMax)
                  .map((line) => line[position] ?? '')
                  .join(' · ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
