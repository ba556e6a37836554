/** What is needed to run the verifiers of docs/verify/: a program in each language that prints 1 or 0 for each line of cases.txt. */
export interface VerifyProgram {
  readonly language: string;
  /** The file of docs/verify/. */
  readonly verifier: string;
  /** Commands that tell whether the language is installed: all of them must succeed. */
  readonly present: readonly (readonly string[])[];
  /** Files beside the verifier and cases.txt. */
  readonly files: Readonly<Record<string, string>>;
  /** Commands that are run one after the other; the last one prints. `node` is the Node of the test. */
  readonly commands: readonly (readonly string[])[];
  /** Its cases take a tenth of a second each: it gets only those of the first vectors. */
  readonly isSlow?: true;
}

const node: VerifyProgram = {
  language: 'Node',
  verifier: 'verify.mjs',
  present: [],
  files: {
    'main.mjs': `
      import { readFileSync } from 'node:fs';
      import { verify } from './verify.mjs';
      for (const line of readFileSync('cases.txt', 'utf8').trimEnd().split('\\n')) {
        const [secret, id, timestamp, signature, body, now] = line.split('\\t').map((text) => Buffer.from(text, 'base64'));
        const texts = { secret: String(secret), id: String(id), timestamp: String(timestamp), signature: String(signature) };
        console.log(verify({ ...texts, body, nowSeconds: Number(now) }) ? 1 : 0);
      }`,
  },
  commands: [['node', 'main.mjs']],
};

const python: VerifyProgram = {
  language: 'Python',
  verifier: 'verify.py',
  present: [['python3', '--version']],
  files: {
    'main.py': `
import base64
from verify import verify
for line in open("cases.txt"):
    *texts, body, now = [base64.b64decode(text) for text in line.rstrip("\\n").split("\\t")]
    print(int(verify(*[text.decode() for text in texts], body, int(now))))
`,
  },
  commands: [['python3', 'main.py']],
};

const go: VerifyProgram = {
  language: 'Go',
  verifier: 'verify.go',
  present: [['go', 'version']],
  files: {
    'main.go': `package main
      import ("encoding/base64"; "fmt"; "os"; "strconv"; "strings")
      func main() {
        text, _ := os.ReadFile("cases.txt")
        for _, line := range strings.Split(strings.TrimRight(string(text), "\\n"), "\\n") {
          parts := [6]string{}
          for index, part := range strings.Split(line, "\\t") {
            decoded, _ := base64.StdEncoding.DecodeString(part)
            parts[index] = string(decoded)
          }
          now, _ := strconv.ParseInt(parts[5], 10, 64)
          verdict := 0
          if Verify(parts[0], parts[1], parts[2], parts[3], []byte(parts[4]), now) { verdict = 1 }
          fmt.Println(verdict)
        }
      }`,
  },
  commands: [['go', 'run', 'main.go', 'verify.go']],
};

const crates = 'base64 = "0.23"\nhmac = "0.13"\nsha2 = "0.11"\n';

const rust: VerifyProgram = {
  language: 'Rust',
  verifier: 'verify.rs',
  // Tests load nothing from a registry: the crates must be in the cache of cargo, as they are where anybody has fetched them.
  present: [['cargo', 'fetch', '--offline']],
  files: {
    'Cargo.toml': `[package]\nname = "cases"\nversion = "0.0.0"\nedition = "2021"\n[[bin]]\nname = "cases"\npath = "main.rs"\n[dependencies]\n${crates}`,
    'main.rs': `
      mod verify;
      use base64::{engine::general_purpose::STANDARD, Engine};
      fn main() {
        for line in std::fs::read_to_string("cases.txt").unwrap().lines() {
          let parts: Vec<Vec<u8>> = line.split('\\t').map(|part| STANDARD.decode(part).unwrap()).collect();
          let text = |index: usize| std::str::from_utf8(&parts[index]).unwrap();
          let request = verify::Request { id: text(1), timestamp: text(2), signature: text(3), body: &parts[4] };
          println!("{}", verify::verify(text(0), &request, text(5).parse().unwrap()) as u8);
        }
      }`,
  },
  commands: [['cargo', 'run', '--quiet', '--offline']],
};

const php: VerifyProgram = {
  language: 'PHP',
  verifier: 'verify.php',
  present: [['php', '--version']],
  files: {
    'main.php': `<?php
      require 'verify.php';
      foreach (file('cases.txt', FILE_IGNORE_NEW_LINES) as $line) {
        [$secret, $id, $timestamp, $signature, $body, $now] = array_map('base64_decode', explode("\\t", $line));
        echo verify($secret, $id, $timestamp, $signature, $body, (int) $now) ? 1 : 0, "\\n";
      }`,
  },
  commands: [['php', 'main.php']],
};

const ruby: VerifyProgram = {
  language: 'Ruby',
  verifier: 'verify.rb',
  present: [['ruby', '--version']],
  files: {
    'main.rb': `
      require './verify'
      File.foreach('cases.txt', chomp: true) do |line|
        *texts, body, now = line.split("\\t", -1).map { |text| text.unpack1('m') }
        secret, id, timestamp, signature = texts.map { |text| text.force_encoding('UTF-8') }
        request = { id: id, timestamp: timestamp, signature: signature, body: body }
        puts verify(secret: secret, **request, now_seconds: now.to_i) ? 1 : 0
      end`,
  },
  commands: [['ruby', 'main.rb']],
};

const java: VerifyProgram = {
  language: 'Java',
  verifier: 'Verify.java',
  present: [
    ['javac', '--version'],
    ['java', '--version'],
  ],
  files: {
    'Main.java': `
      import java.nio.charset.StandardCharsets;
      import java.nio.file.*;
      import java.util.Base64;
      public class Main {
        public static void main(String[] arguments) throws Exception {
          for (String line : Files.readAllLines(Path.of("cases.txt"))) {
            String[] parts = line.split("\\t", -1);
            var request = new Verify.Request(text(parts[1]), text(parts[2]), text(parts[3]), Base64.getDecoder().decode(parts[4]));
            System.out.println(Verify.verify(text(parts[0]), request, Long.parseLong(text(parts[5]))) ? 1 : 0);
          }
        }
        static String text(String part) {
          return new String(Base64.getDecoder().decode(part), StandardCharsets.UTF_8);
        }
      }`,
  },
  commands: [
    ['javac', 'Main.java', 'Verify.java'],
    ['java', '-cp', '.', 'Main'],
  ],
};

const csharp: VerifyProgram = {
  language: 'C#',
  verifier: 'Verify.cs',
  present: [['dotnet', '--version']],
  files: {
    'cases.csproj': `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>
      <OutputType>Exe</OutputType><TargetFramework>netVERSION</TargetFramework>
      </PropertyGroup></Project>`,
    'Main.cs': `
      using System;
      using System.IO;
      using System.Text;
      foreach (var line in File.ReadAllLines("cases.txt")) {
        var parts = line.Split('\\t');
        byte[] Bytes(int index) => Convert.FromBase64String(parts[index]);
        string Text(int index) => Encoding.UTF8.GetString(Bytes(index));
        Console.WriteLine(Webhooks.Verify(Text(0), Text(1), Text(2), Text(3), Bytes(4), long.Parse(Text(5))) ? 1 : 0);
      }`,
  },
  // The version that is installed, for which nothing has to be downloaded.
  commands: [
    ['sh', '-c', 'sed -i.old "s/VERSION/$(dotnet --version | cut -d. -f1,2)/" cases.csproj'],
    ['dotnet', 'run'],
  ],
};

const shell: VerifyProgram = {
  language: 'the shell',
  isSlow: true,
  verifier: 'verify.sh',
  present: [['openssl', 'version']],
  files: {
    'main.sh': `
      . ./verify.sh
      tab=$(printf '\\t')
      decode() { printf %s "$1" | openssl base64 -d -A; }
      BODY_FILE=body
      while IFS= read -r line; do
        set -f; old=$IFS; IFS=$tab; set -- $line; IFS=$old
        SECRET=$(decode "\${1%.}") WEBHOOK_ID=$(decode "\${2%.}") WEBHOOK_TIMESTAMP=$(decode "\${3%.}")
        WEBHOOK_SIGNATURE=$(decode "\${4%.}") NOW_SECONDS=$(decode "\${6%.}")
        decode "\${5%.}" > body
        if verify; then echo 1; else echo 0; fi
      done < dotted.txt`,
  },
  // A shell takes several tabs for one, so that each value gets a dot at its end.
  commands: [
    ['sh', '-c', "sed 's/\\t/.\\t/g; s/$/./' cases.txt > dotted.txt"],
    ['sh', 'main.sh'],
  ],
};

export const verifyPrograms: readonly VerifyProgram[] = [
  node,
  python,
  go,
  rust,
  php,
  ruby,
  java,
  csharp,
  shell,
];
