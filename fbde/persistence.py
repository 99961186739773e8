"""Keeping a fitted model in one npz file: arrays and a JSON header, no pickle."""

import json

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fbde.boosting import Boosted
from fbde.domain import Domain
from fbde.encoding import TableEncoder
from fbde.errors import FBDEError
from fbde.files import atomic
from fbde.initial import Initial
from fbde.weak import WeakTree


class Persistent:
    """``save`` and ``load`` of an estimator; a subclass may keep further arrays beside the cells."""

    # What a subclass keeps beside the cells, and the kind of its weak learners.
    _weak_kind = WeakTree

    def _more_arrays(self):
        return {}

    def _take_arrays(self, arrays):
        pass

    def save(self, path):
        """Write the fitted model to one npz file: arrays and a JSON header, no pickle."""
        check_is_fitted(self)
        if self.domain_.labels.dtype == object or self.domain_.groups.dtype == object:
            raise FBDEError("labels and groups must be numbers or texts to be saved")
        params = {k: v for k, v in self.get_params().items() if k not in ("auditor", "prior", "random_state")}
        header = {
            "params": params,
            "encoder": self.encoder_.to_dict(),
            "names": [self.label_name_, self.sensitive_name_],
            "positive": self.positive_,
            "n_rows": self.n_rows_,
            "stopped": self.stopped_,
            "rates": [self.initial_.sr0, self.initial_.rr0],
            "trace": self._boosted.trace,
        }
        arrays = {f"tree/{i}/{k}": v for i, tree in enumerate(self.weak_learners_) for k, v in tree.arrays().items()}
        with atomic(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(
                file,
                header=np.array(json.dumps(header, default=_plain)),
                X=self.domain_.X,
                labels=self.domain_.labels,
                groups=self.domain_.groups,
                data=self.data_,
                initial=self.initial_.Q,
                mass=self._boosted.mass,
                theta=self.theta_,
                Z_ys=np.array(self._boosted.Z_ys),
                Z_s=np.array(self._boosted.Z_s),
                log_mass_steps=np.array(self._boosted.log_mass_steps),
                **arrays,
                **self._more_arrays(),
            )

    @classmethod
    def load(cls, path):
        """Read a model written by :meth:`save`."""
        with np.load(path, allow_pickle=False) as file:
            a = {name: file[name] for name in file.files}
        header = json.loads(str(a["header"]))
        model = cls(**header["params"])
        model.encoder_ = TableEncoder.from_dict(header["encoder"])
        model.n_features_in_ = len(model.encoder_.names)
        if model.encoder_.frame:
            model.feature_names_in_ = np.array(model.encoder_.names, dtype=object)
        model.label_name_, model.sensitive_name_ = header["names"]
        model.positive_, model.n_rows_ = header["positive"], header["n_rows"]
        model.domain_ = Domain(a["X"], a["labels"], a["groups"])
        model.data_ = a["data"]
        model.initial_ = Initial(a["initial"], *header["rates"])
        trees = [
            model._weak_kind.from_arrays({k.split("/", 2)[2]: v for k, v in a.items() if k.startswith(f"tree/{i}/")})
            for i in range(len(a["theta"]))
        ]
        model._boosted = Boosted(
            mass=a["mass"],
            learners=trees,
            theta=a["theta"].tolist(),
            trace=header["trace"],
            Z_ys=list(a["Z_ys"]),
            Z_s=list(a["Z_s"]),
            log_mass_steps=list(a["log_mass_steps"]),
            stopped=header["stopped"],
        )
        model._take_arrays(a)
        model._unpack()
        return model


def _plain(value):
    return value.item() if isinstance(value, np.generic) else list(value)
