{{- define "chancery.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "chancery.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "chancery.labels" -}}
{{ include "chancery.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "chancery.claim" -}}
{{ .Values.persistence.existingClaim | default (include "chancery.name" .) }}
{{- end }}

{{/* The pod, the same for one node and for many. */}}
{{- define "chancery.pod" -}}
metadata:
  labels:
    {{- include "chancery.labels" . | nindent 4 }}
  annotations:
    # A changed secret begins pods anew.
    checksum/secret: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: chancery
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        # Not as a file: Kubernetes would let the group read it, and the service refuses such a key.
        - name: CHANCERY_KEY
          valueFrom:
            secretKeyRef:
              name: {{ .Values.masterKey.existingSecret | default (include "chancery.name" .) }}
              key: master-key
        {{- if .Values.postgres.enabled }}
        - name: CHANCERY_POSTGRES
          valueFrom:
            secretKeyRef:
              name: {{ .Values.postgres.existingSecret | default (include "chancery.name" .) }}
              key: postgres-url
        {{- if .Values.persistence.enabled }}
        - name: CHANCERY_FILES
          value: /var/lib/chancery/files
        {{- end }}
        {{- end }}
        {{- with .Values.trustedProxies }}
        - name: CHANCERY_TRUSTED_PROXIES
          value: {{ . | quote }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      ports:
        - name: http
          containerPort: 8090
      # A start may have to upgrade all data.
      startupProbe:
        httpGet: { path: /api/health/live, port: http }
        periodSeconds: 1
        failureThreshold: 600
      # Not `ready`: a pod that is begun anew does not bring a database back.
      livenessProbe:
        httpGet: { path: /api/health/live, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /api/health/ready, port: http }
        periodSeconds: 2
        timeoutSeconds: 4
      lifecycle:
        # Requests are still sent here until all have learnt that the pod is going.
        preStop:
          sleep: { seconds: 5 }
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /var/lib/chancery
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: tmp
      emptyDir: {}
    - name: data
      {{- if .Values.persistence.enabled }}
      persistentVolumeClaim:
        claimName: {{ include "chancery.claim" . }}
      {{- else }}
      emptyDir: {}
      {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "chancery.selector" . | nindent 10 }}
{{- end }}
