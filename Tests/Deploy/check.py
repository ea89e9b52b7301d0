"""Checks that the deployment files agree with each other and with the service.
usage: check.py RENDERED    the chart with its default values"""
import ipaddress, os, re, sys

import yaml

OF_HELM_ALONE = ["helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"]
failures = []


def read(path):
    return open(path, encoding="utf-8").read()


def expect(condition, what):
    if not condition:
        failures.append(what)


def by_kind(text):
    return {document["kind"]: document for document in yaml.safe_load_all(text) if document}


def without_helm(value):
    if isinstance(value, dict):
        return {key: without_helm(inner) for key, inner in value.items() if key not in OF_HELM_ALONE}
    return [without_helm(inner) for inner in value] if isinstance(value, list) else value


def difference(one, other, path=""):
    """Returns the first difference between two documents."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return difference(one.get(key), other.get(key), f"{path}/{key}")
    return f"{path}: {one!r} and {other!r}"


def chart_and_manifests(rendered):
    """Checks that the chart with default values makes the plain manifests."""
    kinds = ("NetworkPolicy", "PodDisruptionBudget", "Service", "StatefulSet")
    expect(sorted(rendered) == sorted(kinds), f"the chart makes {sorted(rendered)}")
    for kind in kinds:
        path = f"deploy/kubernetes/{kind.lower()}.yaml"
        plain = by_kind(read(path))[kind]
        made = without_helm(rendered[kind])
        expect(plain == made, f"{path} and the chart are not the same: {difference(plain, made)}")


def networks(policy):
    """Checks that the network policy excludes the networks that Ferry refuses."""
    refused = {ipaddress.ip_network(text) for text in
               re.findall(r'\("[^"]+", "([0-9a-f:.]+/\d+)"\)', read("Sources/Addresses/EgressPolicy.swift"))}
    expect(len(refused) > 20, "the list of networks was not found in EgressPolicy.swift")
    blocks = [peer["ipBlock"] for rule in policy["spec"]["egress"] for peer in rule["to"] if "ipBlock" in peer]
    expect(len(blocks) == 2, "the network policy must open one block of IPv4 and one of IPv6")
    for block in blocks:
        cidr = ipaddress.ip_network(block["cidr"])
        within = [one for one in refused if one.version == cidr.version and one.subnet_of(cidr)]
        widest = {one for one in within if not any(one != other and one.subnet_of(other) for other in within)}
        excepted = {ipaddress.ip_network(text) for text in block["except"]}
        expect(widest == excepted, f"{cidr}: the exceptions differ from the networks that Ferry refuses: {sorted(map(str, widest ^ excepted))}")


def versions(chart, stateful):
    version = re.search(r'static let version = "(.+)"', read("Sources/ferry/Ferry.swift"))[1]
    expect(chart["appVersion"] == version, f"appVersion is {chart['appVersion']}, Ferry's version {version}")
    expect(f"\nARG VERSION={version}\n" in read("Dockerfile"), f"the Dockerfile's VERSION is not {version}")
    image = stateful["spec"]["template"]["spec"]["containers"][0]["image"]
    expect(image == f"ferry:{version}", f"the manifests' image is {image}")


def users(stateful, compose):
    """Checks that every deployment has the image's user, directories and port."""
    dockerfile = read("Dockerfile")
    user, group = re.search(r"^USER (\d+):(\d+)$", dockerfile, re.M).groups()
    pod = stateful["spec"]["template"]["spec"]
    ids = pod["securityContext"]
    numbers = [ids[name] for name in ("runAsUser", "runAsGroup", "fsGroup")]
    expect(numbers == [int(user), int(group), int(group)], "the pod's user is not the image's")
    container = pod["containers"][0]
    port = re.search(r"FERRY_LISTEN=\S+:(\d+)", dockerfile)[1]
    expect(container["ports"][0]["containerPort"] == int(port), "the pod's port is not the image's")
    expect(compose["ports"][0].endswith(f":{port}"), "compose's port is not the image's")
    data = re.search(r"FERRY_DATA_DIRECTORY=(\S+)", dockerfile)[1]
    expect(data in [mount["mountPath"] for mount in container["volumeMounts"]], "the pod's volume is not the data directory")
    expect(compose["volumes"][0].endswith(f":{data}"), "compose's volume is not the data directory")
    described = yaml.safe_load(read("openapi.yaml"))["paths"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        path = container[probe]["httpGet"]["path"]
        expect(described.get(path, {}).get("get", {}).get("security") == [], f"{probe}: {path} must be a path that needs no token")


def options(stateful, compose, values):
    """Checks that every variable is an option of the service."""
    described = [path for path in ("README.md", "docs/settings.md") if os.path.exists(path)]
    known = {name for path in described for name in re.findall(r"\| `(FERRY_[A-Z_]+)` \|", read(path))}
    container = stateful["spec"]["template"]["spec"]["containers"][0]
    named = {variable["name"] for variable in container["env"]} | {*compose["environment"], *values["environment"]}
    named |= set(re.findall(r"(FERRY_[A-Z_]+)=", read("Dockerfile")))
    expect(named <= known, f"not options of Ferry: {sorted(named - known)}")


def main():
    rendered = by_kind(read(sys.argv[1]))
    compose = yaml.safe_load(read("deploy/compose.yaml"))["services"]["ferry"]
    chart_and_manifests(rendered)
    networks(rendered["NetworkPolicy"])
    versions(yaml.safe_load(read("deploy/helm/ferry/Chart.yaml")), rendered["StatefulSet"])
    users(rendered["StatefulSet"], compose)
    options(rendered["StatefulSet"], compose, yaml.safe_load(read("deploy/helm/ferry/values.yaml")))
    if failures:
        sys.exit("\n".join(failures))


main()
